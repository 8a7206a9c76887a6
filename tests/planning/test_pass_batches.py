"""Batching of questions, the cache of answers on disk, and costs by role."""

from __future__ import annotations

from pathlib import Path

from planning.pass_samples import prd_of, task, tasks
from prd2pr.domain.costs.role_costs import format_cost_lines, sum_role_costs
from prd2pr.domain.records import PlannedCycle
from prd2pr.planning.passes.criteria import extract_given_criteria
from prd2pr.planning.passes.cycles import Grouping
from prd2pr.planning.passes.drafts import CyclesDraft, OpenQuestion, TasksDraft
from prd2pr.planning.passes.merge import PassResults, merge_passes, merge_stories
from prd2pr.planning.passes.part import PlanPart, build_parts
from prd2pr.planning.passes.tasks import CycleTasks
from prd2pr.planning.plan import CriterionDraft, StoryDraft
from prd2pr.state.cache import Cache
from prd2pr.state.log_lines import describe_log_entry
from prd2pr.workflow.answer_cache import AnswerCache


def stories(**numbers: int) -> list[StoryDraft]:
    return [StoryDraft(key=f"{cycle}/s{n}", title="x") for cycle, number in numbers.items() for n in range(number)]


def test_stories_of_small_neighbouring_cycles_share_one_call() -> None:
    parts = build_parts("criteria", stories(a=3, b=5, c=1, d=9, e=2))
    assert [(part.name, len(part.stories), part.about) for part in parts] == [
        ("criteria-a", 8, "a to b"),
        ("criteria-c", 1, "c"),
        ("criteria-d", 9, "d"),
        ("criteria-e", 2, "e"),
    ]
    assert build_parts("hints", []) == ()
    assert PlanPart("cycles").about == "all requirements"


def test_requirements_are_listed_with_their_acceptance_criteria() -> None:
    prd = prd_of(
        "- **FR-1** One.\n  - FR-1.1 Part.\n- **FR-2** Two.\n\n## Acceptance criteria\n\n"
        "- **AC-1** (FR-1) It is so.\n- **AC-2** (FR-1) And so.\n- **AC-3** Nobody's.\n"
    )
    assert PlanPart("x", to_cover=prd.requirements).ids == "FR-1 (AC-1, AC-2), FR-1.1, FR-2, AC-3"


# --- omitted requirements ---------------------------------------------------------------------------------------------

PRD = prd_of(
    "- **FR-1** One.\n- **FR-2** Two.\n\n## Acceptance criteria\n\n- **AC-1** (FR-1) GIVEN a WHEN b THEN c.\n"
    "- **AC-2** (FR-1) GIVEN a WHEN d THEN e.\n"
)
ONLY = PlannedCycle(id="cycle-1", title="All", requirements=("FR-1", "FR-2"))


def plan_of(draft: TasksDraft, *asked: OpenQuestion):
    answers = (CycleTasks(ONLY, draft),)
    made = merge_stories(PRD, answers)
    criteria = {story.key: (CriterionDraft(text="It holds."),) for story in made}
    return merge_passes(PRD, PassResults(Grouping((ONLY,), questions=asked), answers, made, criteria))


def test_omitted_criterion_becomes_a_question_and_is_not_copied() -> None:
    draft = tasks(task("s", "FR-1", "FR-2"), left_out=[{"requirement": "AC-2", "why": "d does not exist."}])
    plan = plan_of(draft)
    assert plan.not_covered == ()
    assert plan.questions == ("AC-2 (GIVEN a WHEN d THEN e.) was left out: d does not exist.",)
    known = extract_given_criteria(PRD, plan.stories, {"AC-2"})
    assert [each.requirements for each in known["cycle-1/s1"]] == [("AC-1",)]


def test_uncovered_requirement_is_not_asked_about_twice() -> None:
    draft = tasks(
        task("s", "FR-1"), left_out=[{"requirement": "FR-2", "why": "Two contradicts what the summary says."}]
    )
    same = OpenQuestion(about=("FR-2",), text="Two contradicts what the summary says. Which holds?")
    other = OpenQuestion(about=("FR-2",), text="Who pays for shipping abroad?")
    both = OpenQuestion(about=("FR-1", "FR-2"), text="Two contradicts what the summary says of one. Which holds?")
    asked = plan_of(draft, same, other, both).questions
    assert len(asked) == 3
    assert asked[0].startswith("FR-2 (Two.) is not covered: Two contradicts")
    assert asked[1:] == (f"FR-2: {other.text}", f"FR-1, FR-2: {both.text}")


# --- cached answers ---------------------------------------------------------------------------------------------------


def test_answers_are_cached_completely_or_not_at_all(tmp_path: Path) -> None:
    kept = AnswerCache(Cache(tmp_path / "plans"), "calc")
    assert kept.find("a", CyclesDraft) is None
    answer = CyclesDraft(cycles=())
    kept.keep("a", answer)
    assert kept.find("a", CyclesDraft) == answer
    assert kept.find("a", TasksDraft) is None, "another kind of answer"
    (tmp_path / "plans" / "answer@calc@a").write_text('{"cycles": [')
    assert kept.find("a", CyclesDraft) is None, "torn: as good as none"


def test_cached_answers_are_removed_by_name(tmp_path: Path) -> None:
    kept, other = (AnswerCache(Cache(tmp_path), prd) for prd in ("calc", "calc-2"))
    for key in ("plan-tasks-cycle-1-1-x", "plan-tasks-cycle-1.2-1-x"):
        kept.keep(key, CyclesDraft(cycles=()))
        other.keep(key, CyclesDraft(cycles=()))
    kept.forget("plan-tasks-cycle-1-")
    assert kept.find("plan-tasks-cycle-1-1-x", CyclesDraft) is None
    assert kept.find("plan-tasks-cycle-1.2-1-x", CyclesDraft) is not None
    kept.forget()
    assert len(list(tmp_path.iterdir())) == 2, "the other PRD's"
    other.forget()
    assert list(tmp_path.iterdir()) == []


# --- costs ------------------------------------------------------------------------------------------------------------


def line(purpose: str, **facts: object) -> dict[str, object]:
    usual = {"calls": 1, "input_tokens": 900, "cached_tokens": 0, "output_tokens": 100, "usd": None}
    return {"at": "", "kind": "call", "purpose": purpose, "model": "m", "stop": "end", **usual, **facts}


def test_costs_are_reported_by_role() -> None:
    lines = [
        line("shop/plan-tasks-cycle-1/decomposer_tasks/1/1", usd=0.5),
        line("shop/plan-tasks-cycle-2/decomposer_tasks/1/1", usd=0.25, cached_tokens=500),
        {"at": "", "kind": "kept", "purpose": "shop/plan-tasks-cycle-3/decomposer_tasks/1/1", "model": "m"},
        {"at": "", "kind": "note", "text": "x"},
        {"at": "", "kind": "call", "purpose": "shop-1/red/tester/1/1", "stop": "error", "success": False},
        line("shop-1/red/tester/2/1"),
    ]
    assert format_cost_lines(sum_role_costs(lines)) == (
        "decomposer_tasks  2 calls, 2.5k tokens, 500 of them cached, $0.75, 1 answer reused",
        "tester            1 call, 1.0k tokens",
    )
    assert "reused from an earlier run" in describe_log_entry(lines[2])
