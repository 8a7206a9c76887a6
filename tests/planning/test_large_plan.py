"""PRDs of more than 40 requirements through the real workflow: one call for each part, within limits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fakes.scripted_model import says
from planning.planning_harness import PlanningHarness, answer, good, prompt_text
from planning.samples import functional, story
from prd2pr.agents.models.base import Request, Text
from prd2pr.domain.costs.role_costs import sum_role_costs
from prd2pr.errors import ModelProblem, ModelRefused, PlanInvalid
from prd2pr.workflow.planning.planner import make_plan

BODY = f"## Orders\n{functional(30)}\n## Stock\n{functional(30, 31)}\n## Mail\n{functional(30, 61)}"
PARTS = [f"plan-part-{n}/planner/1/1" for n in (1, 2, 3)]
SECOND = "shop/plan-part-2/planner"


def test_each_part_is_one_call_that_sees_the_stories_of_earlier_ones(tmp_path: Path) -> None:
    harness = PlanningHarness(tmp_path, BODY)
    backlog = harness.plan()
    assert [each.requirements for each in backlog.stories] == [(f"FR-{n}",) for n in range(1, 91)]
    assert [each.id for each in backlog.stories] == [f"shop-{n}" for n in range(1, 91)]
    assert harness.calls() == PARTS
    assert harness.progress.of("note")[0] == {"text": "planned in 3 calls: 90 requirements"}
    first, second, third = map(prompt_text, harness.model.requests)
    assert "shop-1 [FR-1] Thing FR-1 is done\n  - FR-1 can be done.\n" in second
    assert "shop-1 [FR-1]" not in first
    assert "shop-60 [FR-60]" in third and "shop-60 [FR-60]" not in second


def test_the_parts_share_all_but_the_end_of_the_prompt(tmp_path: Path) -> None:
    harness = PlanningHarness(tmp_path, BODY)
    harness.plan()
    blocks = [
        [block for block in request.messages[0].blocks if isinstance(block, Text)] for request in harness.model.requests
    ]
    assert len({tuple(block.text for block in each[:-1]) for each in blocks}) == 1
    assert all(each[-2].cache for each in blocks)
    assert blocks[2][-1].text.startswith("# Part 3 of 3\n")


def test_a_story_may_depend_on_one_of_an_earlier_part(tmp_path: Path) -> None:
    def reply(request: Request):
        if request.purpose.phase != "plan-part-2":
            return good(request)
        names = [f"FR-{n}" for n in range(31, 61)]
        return answer({"stories": [story("s1", *names, title="Late", depends_on=["shop-30"])], "assumptions": ["UTC."]})

    harness = PlanningHarness(tmp_path, BODY)
    harness.model.otherwise = reply
    backlog = harness.plan()
    (late,) = (each for each in backlog.stories if "FR-31" in each.requirements)
    assert (late.id, late.depends_on) == ("shop-31", ("shop-30",))
    assert "assumed: UTC." in prompt_text(harness.model.requests[-1])


def test_a_contradiction_across_parts_is_one_question_about_both_sides(tmp_path: Path) -> None:
    note = "FR-2 and FR-31 name different limits. Which one holds?"

    def reply(request: Request):
        if request.purpose.phase != "plan-part-1":
            return good(request)
        made = [story(f"s{n}", f"FR-{n}") for n in range(1, 31)]
        sides = [{"id": name, "status": "contradictory", "note": note} for name in ("FR-2", "FR-31")]
        return answer({"stories": made, "classified": sides})

    harness = PlanningHarness(tmp_path, BODY)
    harness.model.otherwise = reply
    backlog = harness.plan()
    assert backlog.questions == (note,)
    assert [each.id for each in backlog.classified] == ["FR-2", "FR-31"]
    assert f"contradictory FR-2: {note}" in prompt_text(harness.model.requests[1])


def test_what_is_met_is_verified_for_each_part(tmp_path: Path) -> None:
    def reply(request: Request):
        names = [f"FR-{n}" for n in range(1, 91) if request.purpose.phase == f"plan-part-{(n - 1) // 30 + 1}"]
        met = [{"id": name, "status": "met", "note": "prds/shop.md"} for name in names[1:]]
        return answer({"stories": [story("s1", names[0])], "classified": met})

    harness = PlanningHarness(tmp_path, BODY)
    harness.model.otherwise = reply
    backlog = harness.plan()
    assert [len(each.criteria) for each in backlog.stories if each.verify_only] == [29, 29, 29]
    assert len({name for each in backlog.stories for name in each.requirements}) == 90


# --- repair, limits and costs -----------------------------------------------------------------------------------------


def test_only_the_part_with_a_problem_is_asked_again(tmp_path: Path) -> None:
    harness = PlanningHarness(tmp_path, BODY, answers={f"{SECOND}/1/1": answer({"stories": [story("a", "FR-31")]})})
    assert len(harness.plan().stories) == 90
    assert sorted(harness.calls()) == sorted([*PARTS, "plan-part-2/planner/2/1"])
    again = prompt_text(harness.strong.requests[0])
    assert "PLN106" in again and "no story covers FR-32" in again
    assert '"key":"a"' in again, "with what it had answered"


def test_paid_answers_are_not_paid_for_again(tmp_path: Path) -> None:
    wrong = answer({"stories": [story("a", "FR-31", depends_on=["nowhere"])]})
    broken = {f"{SECOND}/{n}/1": wrong for n in (1, 2)}
    harness = PlanningHarness(tmp_path, BODY, answers=broken, remembers=True)
    with pytest.raises(PlanInvalid, match="depends on `nowhere`"):
        harness.plan()
    left = sorted(path.name.rsplit("-", 3)[0] for path in (harness.world.repo / ".git/prd2pr/cache").glob("answer@*"))
    assert left == ["answer@shop@plan-part-1"]
    for model in (harness.model, harness.strong):
        model.answers.clear()
        model.requests.clear()
    harness.plan()
    assert harness.calls() == PARTS[1:]
    harness.model.requests.clear()
    with harness.session() as session:
        make_plan(session, session.target.base_commit, session.git.code_tree(session.target.base_commit))
        (cost,) = sum_role_costs(session.log.lines)
    assert harness.calls() == [], "the plan that was shown is the plan that is made"
    assert (cost.role, cost.spend.calls, cost.kept) == ("planner", 0, 3)


def test_the_number_of_calls_is_limited(tmp_path: Path) -> None:
    harness = PlanningHarness(tmp_path, functional(120))
    harness.model.otherwise = harness.strong.otherwise = lambda _: says("certainly!")
    with pytest.raises(ModelRefused, match=r"as planner, .*: Invalid JSON"):
        harness.plan()
    assert len(harness.calls()) == 2 * 3, "three tries for a readable answer in each of two attempts"


def test_unavailable_provider_ends_the_plan_at_once(tmp_path: Path) -> None:
    down = ModelProblem("no connection", where="x", remedy="wait")
    harness = PlanningHarness(tmp_path, BODY, answers={f"{SECOND}/1/1": down})
    with pytest.raises(ModelProblem, match="no connection"):
        harness.plan()
    assert harness.calls() == PARTS[:2]


def test_oversized_story_is_split_again_and_then_asked_about(tmp_path: Path) -> None:
    large = answer({"stories": [story("big", *(f"FR-{n}" for n in range(1, 6)), complexity=9)]})
    key = "shop/plan/planner"
    harness = PlanningHarness(tmp_path, answers={f"{key}/1/1": large})
    assert len(harness.plan().stories) == 5
    assert "PLN201" in prompt_text(harness.strong.requests[0])
    insisting = PlanningHarness(tmp_path / "again", answers={f"{key}/1/1": large})
    insisting.strong.answers = {f"{key}/2/1": large}
    (question,) = insisting.plan().questions
    assert re.search(r"too large \(complexity 9, at most 6\)\. .* Should it be split\?", question)


def test_former_settings_are_accepted_with_a_warning(tmp_path: Path) -> None:
    models = "models:\n  roles:\n    decomposer_tasks: human\n"
    former = "context:\n  roles:\n    decomposer_hints: 8000\nretention:\n  archive_after_days: 30\n"
    config = f"strategy: fused\n{models}{former}"
    harness = PlanningHarness(tmp_path, config=config)
    assert len(harness.plan().stories) == 5
    assert [facts["text"] for facts in harness.progress.of("note")] == [
        "the role `decomposer_hints` no longer exists; remove it from .prd2pr.yml",
        "the role `decomposer_tasks` no longer exists; remove it from .prd2pr.yml",
        "`strategy: fused` is deprecated and the same as `conversation`; remove it from .prd2pr.yml",
        "`retention.archive_after_days` is deprecated and has no effect; remove it from .prd2pr.yml",
    ]
