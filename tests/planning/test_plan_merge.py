"""One plan merged from many answers."""

from __future__ import annotations

from itertools import permutations

import pytest

from planning.pass_samples import functional, prd_of, task, tasks
from prd2pr.domain.records import PlannedCycle, Prd
from prd2pr.planning.passes.cycles import Grouping
from prd2pr.planning.passes.drafts import HintsDraft, OpenQuestion
from prd2pr.planning.passes.hints import apply_hints, select_hinted_stories
from prd2pr.planning.passes.merge import PassResults, merge_passes, merge_stories
from prd2pr.planning.passes.open_questions import merge_assumptions, merge_questions
from prd2pr.planning.passes.tasks import CycleTasks
from prd2pr.planning.plan import CriterionDraft, StoryDraft, backlog_to_draft, check_plan, to_backlog
from prd2pr.planning.problems import PlanProblem

PRD = prd_of(functional(4) + "- **NFR-1** Nothing reads the clock.\n")
A = PlannedCycle(id="cycle-1", title="First", requirements=("FR-1", "FR-2"))
B = PlannedCycle(id="cycle-2", title="Second", requirements=("FR-3",), depends_on=("cycle-1",))
C = PlannedCycle(id="cycle-3", title="Third", requirements=("FR-4",), depends_on=("cycle-2",))
ANSWERS = (
    CycleTasks(A, tasks(task("s1", "FR-1"), task("s2", "FR-2", depends_on=["s1"]), task("s3", "FR-2", title="Apart"))),
    CycleTasks(B, tasks(task("s1", "FR-3"))),
    CycleTasks(C, tasks(task("s1", "FR-4", depends_on=["cycle-1"]))),
)


def collect(answers: tuple[CycleTasks, ...] = ANSWERS, prd: Prd = PRD, **facts) -> PassResults:
    stories = merge_stories(prd, answers)
    holds = {story.key: (CriterionDraft(text=f"{story.key} holds"),) for story in stories}
    return PassResults(Grouping(tuple(each.cycle for each in answers)), answers, stories, holds, **facts)


def test_keys_are_prefixed_by_cycle_and_cycles_depend_on_final_stories() -> None:
    stories = merge_stories(PRD, ANSWERS)
    assert [(story.key, story.epic, story.depends_on) for story in stories] == [
        ("cycle-1/s1", "cycle-1", ()),
        ("cycle-1/s2", "cycle-1", ("cycle-1/s1",)),
        ("cycle-1/s3", "cycle-1", ()),
        ("cycle-2/s1", "cycle-2", ("cycle-1/s2", "cycle-1/s3")),
        ("cycle-3/s1", "cycle-3", ("cycle-2/s1",)),
    ]


def test_dependencies_pass_through_a_cycle_without_stories() -> None:
    stories = merge_stories(PRD, (ANSWERS[0], CycleTasks(B, tasks()), ANSWERS[2]))
    assert stories[-1].depends_on == ("cycle-1/s2", "cycle-1/s3")


def test_the_plan_is_valid_and_becomes_a_backlog() -> None:
    draft = merge_passes(PRD, collect())
    assert check_plan(PRD, draft) == ()
    backlog = to_backlog(PRD, draft)
    assert [story.id for story in backlog.stories] == [f"shop-{n}" for n in range(1, 6)]
    assert [epic.title for epic in backlog.epics] == ["First", "Second", "Third"]
    assert backlog.assumptions == ("NFR-1: applies to every story, so no separate story is planned for it.",)
    assert backlog.questions == ()


def test_single_cycle_makes_no_epics() -> None:
    prd = prd_of(functional(2))
    draft = merge_passes(prd, collect((CycleTasks(A, tasks(task("s", "FR-1", "FR-2"))),), prd))
    assert draft.epics == ()
    assert check_plan(prd, draft) == ()


def test_uncovered_requirement_becomes_a_question_and_is_not_dropped() -> None:
    left = tasks(left_out=[{"requirement": "FR-3", "why": "Which currency?"}])
    draft = merge_passes(PRD, collect((ANSWERS[0], CycleTasks(B, left), CycleTasks(C, tasks()))))
    assert draft.not_covered == ("FR-3", "FR-4")
    assert draft.questions == (
        "FR-3 (The shop can do thing 3.) is not covered: Which currency?",
        "FR-4 (The shop can do thing 4.) is not covered: no story was planned for it. What is to be built?",
    )
    assert check_plan(PRD, draft) == ()
    backlog = to_backlog(PRD, draft)
    assert check_plan(PRD, backlog_to_draft(backlog)) == (), "what verify asks of the branch"
    silent = draft.model_copy(update={"questions": ()})
    assert [problem.code for problem in check_plan(PRD, silent)] == ["PLN207", "PLN207"]
    forgotten = draft.model_copy(update={"not_covered": ("FR-3",)})
    assert [problem.code for problem in check_plan(PRD, forgotten)] == ["PLN106"]
    invented = draft.model_copy(update={"not_covered": ("FR-3", "FR-4", "FR-9")})
    assert [problem.code for problem in check_plan(PRD, invented)] == ["PLN107"]


def test_problems_left_after_retries_are_reported() -> None:
    stated = (
        PlanProblem("PLN201", "too large (130 lines, fewer than 100): split it into several stories", "s1"),
        PlanProblem("PLN203", "no story fulfills FR-9"),
        PlanProblem("PLN204", "`x.py` has no place in the PRD's module structure", "s1"),
    )
    draft = merge_passes(PRD, collect((ANSWERS[0], CycleTasks(B, ANSWERS[1].draft, stated), ANSWERS[2])))
    split = "Further attempts did not split it. Should it be split?"
    assert draft.questions == (
        f"«Thing FR-3 is done»: too large (130 lines, fewer than 100). {split}",
        "«Thing FR-3 is done»: `x.py` has no place in the PRD's module structure. Is this the right place?",
    )


# --- overlap ----------------------------------------------------------------------------------------------------------

AGAIN = PlannedCycle(id="cycle-9", title="Again", requirements=("FR-1",))


@pytest.mark.parametrize(
    ("one", "other", "later_verifies"),
    [
        ({"title": "Orders can be listed"}, {"title": "The orders can be listed"}, True),
        ({"title": "List orders", "files": ["a.py"]}, {"title": "Show what was bought", "files": ["a.py"]}, True),
        ({"title": "List orders", "files": ["a.py"]}, {"title": "Show what was bought", "files": ["b.py"]}, False),
        ({"title": "List orders"}, {"title": "Cancel orders"}, False),
        ({"title": "Orders can be listed", "kind": "docs"}, {"title": "Orders can be listed"}, False),
    ],
)
def test_later_of_two_overlapping_stories_only_verifies(one, other, later_verifies: bool) -> None:
    first = CycleTasks(A, tasks(task("s1", "FR-1", **one), task("s2", "FR-2", title="Something else")))
    second = CycleTasks(AGAIN, tasks(task("s1", "FR-1", **other)))
    last = merge_stories(PRD, (first, second))[-1]
    assert last.verify_only is later_verifies
    assert last.depends_on == (("cycle-1/s1",) if later_verifies else ())
    assert last.description.startswith(f"Verify only: «{one['title']}» is planned") is later_verifies
    draft = merge_passes(prd_of(functional(2)), collect((first, second), prd_of(functional(2))))
    assert [story.verify_only for story in to_backlog(prd_of(functional(2)), draft).stories].count(
        True
    ) == later_verifies


def test_same_file_within_one_answer_is_no_overlap() -> None:
    two = tasks(
        task("a", "FR-1", title="Add a line", files=["o.py"]), task("b", "FR-1", title="Drop one", files=["o.py"])
    )
    assert not any(story.verify_only for story in merge_stories(PRD, (CycleTasks(A, two),)))


def test_story_with_dependents_is_the_one_that_builds() -> None:
    two = tasks(
        task("late", "FR-1", title="List the orders", depends_on=["early"]),
        task("early", "FR-1", title="List orders the"),
    )
    assert [(s.key, s.verify_only) for s in merge_stories(PRD, (CycleTasks(A, two),))] == [
        ("cycle-1/s1", True),
        ("cycle-1/s2", False),
    ]


def test_a_story_that_verifies_nothing_is_refused() -> None:
    draft = merge_passes(PRD, collect())
    wrong = draft.stories[0].model_copy(update={"verify_only": True})
    found = check_plan(PRD, draft.model_copy(update={"stories": (wrong, *draft.stories[1:])}))
    assert [problem.code for problem in found] == ["PLN208"]


# --- questions and assumptions ----------------------------------------------------------------------------------------


def question(text: str, *about: str) -> OpenQuestion:
    return OpenQuestion(text=text, about=about)


def test_questions_are_kept_with_their_requirement_and_asked_once() -> None:
    one = question("Refunds: FR-1 says within a day, FR-2 says never. Which holds?", "fr1", "FR-2")
    same = question("FR-1 allows refunds within a day, FR-2 says refunds never happen. Which one?", "FR-2", "FR-1")
    other = question("Who may see totals that carry tax?", "FR-1", "FR-2")
    assert merge_questions(
        PRD, [one, same, other, question("What is tax?"), question("  what is\nTAX "), question("?")]
    ) == (
        one.text,
        f"FR-1, FR-2: {other.text}",
        "What is tax?",
    )
    assert merge_questions(PRD, [question("Is it so?", "FR-77", "FR-1")]) == ("FR-1: Is it so?",), (
        "ids that do not exist are dropped"
    )


def test_questions_about_one_requirement_stay_apart() -> None:
    two = [question("How many lines may it have?", "FR-1"), question("How many pages may it have?", "FR-1")]
    assert len(merge_questions(PRD, two)) == 2


def test_duplicate_assumptions_are_merged() -> None:
    assert merge_assumptions(["UTC is used.", "utc is used", " ", "Names are unique."]) == (
        "UTC is used.",
        "Names are unique.",
    )


def test_plan_does_not_depend_on_the_order_of_answers() -> None:
    """Answers are merged in the order of the cycles, whatever order they arrived in."""
    expected = merge_passes(PRD, collect())
    for order in permutations(ANSWERS):
        by_cycle = {answer.cycle.id: answer for answer in order}
        assert merge_passes(PRD, collect(tuple(by_cycle[each.id] for each in (A, B, C)))) == expected


# --- hints ------------------------------------------------------------------------------------------------------------


def test_hints_are_requested_for_complex_stories() -> None:
    stories = [
        StoryDraft(key="a", title="a", complexity=3),
        StoryDraft(key="b", title="b", complexity=4),
        StoryDraft(key="c", title="c", complexity=9, kind="docs"),
        StoryDraft(key="d", title="d", complexity=9, verify_only=True),
    ]
    assert [story.key for story in select_hinted_stories(stories)] == ["b"]


def test_only_usable_hints_are_taken() -> None:
    before = StoryDraft(key="b", title="b", complexity=4, source_paths=("src/a.py",), module="a")
    hint = {"story": "b", "module": "shop.a", "interface": "f() -> int\n", "test_ideas": ["empty", " ", "empty"]}
    for paths in (["../x.py"], ["a.py", "b.py", "c.py", "d.py"], ["tests/test_a.py"]):
        draft = HintsDraft.model_validate({"stories": [{**hint, "source_paths": paths}]})
        after = apply_hints(PRD, before, draft, ())
        assert (after.module, after.interface, after.test_ideas) == ("shop.a", "f() -> int", ("empty",))
        assert after.source_paths == ("src/a.py",), "what no story may write is left out"
    draft = HintsDraft.model_validate({"stories": [{**hint, "source_paths": ["src/b.py"]}, {"story": "unknown"}]})
    assert apply_hints(PRD, before, draft, ()).source_paths == ("src/b.py",)
    assert apply_hints(PRD, before.model_copy(update={"key": "other"}), draft, ()).module == "a"
