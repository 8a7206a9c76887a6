"""The four passes through the real workflow: which role is called, in which order, how often; the cost of a failure."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from fakes.scripted_model import KeyedModel, says
from planning.pass_samples import functional, task
from planning.planning_harness import LISTED, PlanningHarness, answer, good, good_answer, last_text
from prd2pr.agents.models.base import Reply, Request, Text
from prd2pr.domain.costs.budget import CallEstimate
from prd2pr.domain.costs.role_costs import sum_role_costs
from prd2pr.errors import ModelProblem, ModelRefused, PlanInvalid, SpendLimit
from prd2pr.workflow.planning import passes

FOUR = "profile: full\n"


def test_a_large_prd_is_planned_in_four_passes(tmp_path: Path) -> None:
    harness = PlanningHarness(tmp_path)
    backlog = harness.plan()
    assert [story.requirements for story in backlog.stories] == [(f"FR-{n}",) for n in range(1, 15)]
    assert [epic.title for epic in backlog.epics] == [f"Group {n}" for n in range(5)]
    cycles = [f"cycle-{n}" for n in range(1, 6)]
    assert harness.calls() == sorted([
        "plan-cycles/decomposer_cycles/1/1",
        *(f"plan-tasks-{cycle}/decomposer_tasks/1/1" for cycle in cycles),
        *(f"plan-criteria-{cycle}/decomposer_criteria/1/1" for cycle in ("cycle-1", "cycle-3")),
    ])  # fmt: skip
    assert {"text": "planned in four passes: 14 requirements, profile full"} in harness.progress.of("note")
    outcomes = [facts["outcome"] for facts in harness.progress.of("phase")]
    assert outcomes == [
        "5 cycles",
        "14 stories for 14 requirements",
        "28 criteria, 0 of them from the PRD",
        "hints for 0 of 14 stories",
    ]


def test_a_small_prd_is_planned_in_one_call(tmp_path: Path) -> None:
    answers = {"shop/plan/planner/1/1": answer({"stories": []})}
    harness = PlanningHarness(tmp_path, functional(2), "profile: standard\n", answers)
    with pytest.raises(AssertionError):
        harness.plan()  # the good model has no answer for the planner, so the planner was called a second time
    assert harness.calls(harness.model, harness.strong) == ["plan/planner/1/1", "plan/planner/2/1"]


def test_criteria_in_the_prd_are_not_requested(tmp_path: Path) -> None:
    accepted = "".join(f"- **AC-{n}** (FR-{n}) GIVEN {n} WHEN it is done THEN {n} is there.\n" for n in range(1, 6))
    harness = PlanningHarness(tmp_path, f"{functional(5)}\n## Acceptance criteria\n\n{accepted}{LISTED}", FOUR)
    backlog = harness.plan()
    assert harness.calls() == [f"plan-tasks-cycle-{n}/decomposer_tasks/1/1" for n in (1, 2, 3)]
    assert [story.criteria[0].text for story in backlog.stories] == [
        f"GIVEN {n} WHEN it is done THEN {n} is there." for n in range(1, 6)
    ]
    assert harness.progress.of("phase")[0]["outcome"] == "3 cycles, listed in the PRD: no model call needed"


def test_only_complex_stories_get_hints(tmp_path: Path) -> None:
    hard = answer({"tasks": [task("s1", "FR-3", complexity=4, tests=9), task("s2", "FR-4")]})
    harness = PlanningHarness(
        tmp_path, functional(5) + LISTED, FOUR, {"shop/plan-tasks-cycle-2/decomposer_tasks/1/1": hard}
    )
    backlog = harness.plan()
    assert [key for key in harness.calls() if "hints" in key] == ["plan-hints-cycle-2/decomposer_hints/1/1"]
    assert [story.test_ideas for story in backlog.stories].count(("none",)) == 1


# --- concurrency ------------------------------------------------------------------------------------------------------


def slow_model(seed: int):
    chance = random.Random(seed)

    def reply(request: Request) -> Reply:
        time.sleep(chance.random() / 40)
        return good(request)

    return reply


def test_calls_are_concurrent_within_the_limit_and_the_plan_is_the_same(tmp_path: Path) -> None:
    plans = []
    for seed in (1, 2):
        harness = PlanningHarness(tmp_path / str(seed), functional(30))
        harness.model.otherwise = slow_model(seed)
        plans.append(harness.plan())
        assert 1 < harness.model.most_at_once <= 4
        order = [key for key in harness.model.keys if "plan-tasks" in key]
        assert order[0] == "shop/plan-tasks-cycle-1/decomposer_tasks/1/1"
    assert plans[0] == plans[1]


def test_first_call_of_a_pass_runs_alone_to_warm_the_prompt_cache(tmp_path: Path) -> None:
    harness = PlanningHarness(tmp_path)
    done: list[str] = []

    def reply(request: Request) -> Reply:
        if request.purpose.phase.startswith("plan-tasks-") and request.purpose.phase != "plan-tasks-cycle-1":
            assert "plan-tasks-cycle-1" in done
        time.sleep(0.01)
        done.append(request.purpose.phase)
        return good(request)

    harness.model.otherwise = reply
    harness.plan()
    asked = [request for request in harness.model.requests if request.purpose.role == "decomposer_tasks"]
    shared = {
        tuple(block.text for block in request.messages[0].blocks[:-1] if isinstance(block, Text)) for request in asked
    }
    assert len(asked) == 5
    assert len(shared) == 1, "all but the last block is the same for all"


def test_every_concurrent_call_is_recorded(tmp_path: Path) -> None:
    harness = PlanningHarness(tmp_path, functional(30))
    harness.model.otherwise = slow_model(3)
    with harness.session() as session:
        passes.plan_in_passes(session, session.target.base_commit, session.git.code_tree(session.target.base_commit))
        journalled = [entry.facts["key"] for entry in session.services.journal.entries()]
        assert sorted(journalled) == sorted(harness.model.keys)
        assert session.log.spend.calls == len(harness.model.keys)
        assert session.log.calls.reserved == {}
        costs = {cost.role: cost.spend.calls for cost in sum_role_costs(session.log.lines)}
    assert costs == {"decomposer_cycles": 1, "decomposer_tasks": 10, "decomposer_criteria": 5}


# --- retries ----------------------------------------------------------------------------------------------------------

LARGE = answer({"tasks": [task("big", "FR-3", "FR-4", lines=180)]})
SPLIT = answer({"tasks": [task("a", "FR-3", lines=90), task("b", "FR-4", lines=90)]})
SECOND = "shop/plan-tasks-cycle-2/decomposer_tasks"


def test_oversized_story_is_split_again_with_the_finding(tmp_path: Path) -> None:
    harness = PlanningHarness(tmp_path, functional(5) + LISTED, FOUR, {f"{SECOND}/1/1": LARGE, f"{SECOND}/2/1": SPLIT})
    backlog = harness.plan()
    assert len(backlog.stories) == 5
    assert backlog.questions == ()
    assert [key for key in harness.calls() if "tasks" in key] == [
        "plan-tasks-cycle-1/decomposer_tasks/1/1",
        "plan-tasks-cycle-2/decomposer_tasks/1/1",
        "plan-tasks-cycle-2/decomposer_tasks/2/1",
        "plan-tasks-cycle-3/decomposer_tasks/1/1",
    ], "nobody else is asked again"
    again = next(request for request in harness.model.requests if request.purpose.attempt == 2)
    told = again.messages[0].blocks[-1]
    assert isinstance(told, Text)
    assert "PLN201" in told.text and "180 lines, fewer than 100" in told.text
    assert '"key":"big"' in told.text, "with what it had answered"
    (refused,) = harness.progress.of("refused")
    assert (refused["codes"], refused["attempt"], refused["of"]) == (["PLN201"], 1, 3)


def test_unsplittable_story_is_retried_twice_and_then_reported(tmp_path: Path) -> None:
    harness = PlanningHarness(tmp_path, functional(5) + LISTED, FOUR, {f"{SECOND}/{n}/1": LARGE for n in (1, 2, 3)})
    backlog = harness.plan()
    assert [key for key in harness.calls() if "cycle-2/decomposer_tasks" in key] == [
        "plan-tasks-cycle-2/decomposer_tasks/1/1",
        "plan-tasks-cycle-2/decomposer_tasks/2/1",
    ]
    assert harness.calls(harness.strong) == ["plan-tasks-cycle-2/decomposer_tasks/3/1"], (
        "the last one by the stronger model"
    )
    (question,) = backlog.questions
    assert "180 lines" in question and "Should it be split?" in question
    assert len(backlog.stories) == 4


def test_the_best_of_three_answers_is_taken(tmp_path: Path) -> None:
    worse = answer({"tasks": [task("big", "FR-3", lines=180)]})
    answers = {f"{SECOND}/1/1": worse, f"{SECOND}/2/1": LARGE, f"{SECOND}/3/1": worse}
    backlog = PlanningHarness(tmp_path, functional(5) + LISTED, FOUR, answers).plan()
    assert backlog.not_covered == ()


def test_uncovered_requirement_is_named(tmp_path: Path) -> None:
    half = answer({"tasks": [task("a", "FR-3")]})
    backlog = PlanningHarness(
        tmp_path, functional(5) + LISTED, FOUR, {f"{SECOND}/{n}/1": half for n in (1, 2, 3)}
    ).plan()
    assert backlog.not_covered == ("FR-4",)
    (question,) = backlog.questions
    assert question.startswith("FR-4 (The shop can do thing 4.) is not covered")


def test_contradiction_written_by_the_model_is_retried(tmp_path: Path) -> None:
    key = "shop/plan-criteria-cycle-1/decomposer_criteria"

    def wrong(request: Request) -> Reply:
        made = good_answer(request)
        contrary = ["GIVEN a WHEN b THEN it is 1", "GIVEN a WHEN b THEN it is 2"]
        made["stories"][-1]["criteria"] = [{"text": text} for text in contrary]
        return answer(made)

    harness = PlanningHarness(tmp_path, functional(5) + LISTED, FOUR, {f"{key}/1/1": wrong})
    assert harness.plan().questions == ()
    assert harness.progress.of("refused")[0]["codes"] == ["PLN205"]
    insisting = PlanningHarness(
        tmp_path / "again", functional(5) + LISTED, FOUR, {f"{key}/{n}/1": wrong for n in (1, 2, 3)}
    )
    (question,) = insisting.plan().questions
    assert "Which is valid?" in question


# --- failure of one call ----------------------------------------------------------------------------------------------


def test_refusal_of_one_cycle_is_retried_and_costs_the_others_nothing(tmp_path: Path) -> None:
    harness = PlanningHarness(
        tmp_path, functional(5) + LISTED, FOUR, {f"{SECOND}/1/1": says("I cannot help.", stop="refusal")}
    )
    assert len(harness.plan().stories) == 5
    assert [key for key in harness.calls() if "tasks" in key and "/2/1" in key] == [
        "plan-tasks-cycle-2/decomposer_tasks/2/1"
    ]


def refusing() -> dict[str, Reply]:
    return {f"{SECOND}/{n}/1": says("I cannot help.", stop="refusal") for n in (1, 2, 3)}


def test_paid_answers_are_not_paid_for_again(tmp_path: Path) -> None:
    harness = PlanningHarness(tmp_path, functional(5) + LISTED, FOUR, refusing(), remembers=True)
    with pytest.raises(ModelRefused, match="declined"):
        harness.plan()
    first = harness.calls()
    assert "plan-tasks-cycle-3/decomposer_tasks/1/1" in first
    harness.model.answers.clear()
    harness.model.requests.clear()
    assert len(harness.plan().stories) == 5
    assert [key for key in harness.calls() if "tasks" in key] == ["plan-tasks-cycle-2/decomposer_tasks/1/1"]
    harness.model.requests.clear()
    with harness.session() as session:
        passes.plan_in_passes(session, session.target.base_commit, session.git.code_tree(session.target.base_commit))
        kept = {cost.role: (cost.spend.calls, cost.kept) for cost in sum_role_costs(session.log.lines)}
    assert harness.calls() == [], "the plan that was shown is the plan that is made"
    assert kept == {"decomposer_tasks": (0, 3), "decomposer_criteria": (0, 1)}


def test_cached_answers_depend_on_the_prd_and_the_model(tmp_path: Path) -> None:
    harness = PlanningHarness(tmp_path, functional(5) + LISTED, FOUR, remembers=True)
    harness.plan()
    harness.world.write(
        {"prds/shop.md": (harness.world.repo / "prds/shop.md").read_text().replace("thing 5", "thing five")}
    )
    harness.model.requests.clear()
    harness.plan()
    assert len(harness.calls()) == 4
    harness.model.requests.clear()
    harness.model.name = "another"
    harness.plan()
    assert len(harness.calls()) == 4


def test_without_memory_nothing_is_cached(tmp_path: Path) -> None:
    harness = PlanningHarness(tmp_path, functional(5) + LISTED, FOUR)
    harness.plan()
    assert list((harness.world.repo / ".git/prd2pr/cache").glob("answer@*")) == []


def test_invalid_answers_are_not_cached_for_the_next_run(tmp_path: Path) -> None:
    wrong = answer({"tasks": [task("a", "FR-3", "FR-4", depends_on=["nowhere"])]})
    harness = PlanningHarness(
        tmp_path, functional(5) + LISTED, FOUR, {f"{SECOND}/{n}/1": wrong for n in (1, 2, 3)}, remembers=True
    )
    with pytest.raises(PlanInvalid, match="no valid plan for cycle-2 after 3 attempts: depends on `nowhere`"):
        harness.plan()
    left = sorted(path.name.rsplit("-", 3)[0] for path in (harness.world.repo / ".git/prd2pr/cache").glob("answer@*"))
    assert left == ["answer@shop@plan-tasks-cycle-1", "answer@shop@plan-tasks-cycle-3"]


def test_unavailable_provider_ends_the_plan_at_once(tmp_path: Path) -> None:
    down = ModelProblem("no connection", where="x", remedy="wait")
    harness = PlanningHarness(tmp_path, functional(30), answers={"shop/plan-tasks-cycle-1/decomposer_tasks/1/1": down})
    with pytest.raises(ModelProblem, match="no connection"):
        harness.plan()
    assert len(harness.calls()) == 2, "the cycles, and the first of the second pass"


# --- limits -----------------------------------------------------------------------------------------------------------


class Counting(KeyedModel):
    """A model that estimates the cost of a call in advance and then uses exactly that."""

    name = "counting"

    def estimate(self, request: Request | None) -> CallEstimate:
        return CallEstimate(self.name, tokens=1000 if request else 0, usd=None)


def test_budget_covers_all_calls_in_flight(tmp_path: Path) -> None:
    harness = PlanningHarness(tmp_path, functional(30), "budget:\n  tokens_per_run: 5500\n")

    def slow(request: Request) -> Reply:
        time.sleep(0.02)
        made = good(request)
        return Reply(made.blocks, made.spend.model_copy(update={"input_tokens": 900, "output_tokens": 100}))

    harness.model = Counting({}, slow)
    with harness.session() as session, pytest.raises(SpendLimit, match="budget") as stopped:
        passes.plan_in_passes(session, session.target.base_commit, session.git.code_tree(session.target.base_commit))
    assert len(harness.model.keys) == 5, "a sixth would cross the limit, also while others are under way"
    assert session.log.spend.tokens == 5000
    assert session.log.calls.reserved == {}
    assert "tokens_per_run" in stopped.value.remedy


def test_call_limit_is_kept_and_omissions_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "compute_max_model_calls", lambda _: 2)
    harness = PlanningHarness(tmp_path, functional(5) + LISTED, FOUR)
    backlog = harness.plan()
    assert len(harness.calls()) == 2
    planned = [name for story in backlog.stories for name in story.requirements]
    assert sorted([*planned, *backlog.not_covered]) == [f"FR-{n}" for n in range(1, 6)]
    assert len(backlog.questions) == len(backlog.not_covered) > 0
    assert all(story.criteria for story in backlog.stories)
    assert "are the PRD's own words: the plan's limit of 2 model calls was reached." in backlog.assumptions[0]


def test_hints_beyond_the_call_limit_are_reported_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "compute_max_model_calls", lambda _: 4)
    hard = answer({"tasks": [task("s1", "FR-3", complexity=4), task("s2", "FR-4")]})
    harness = PlanningHarness(tmp_path, functional(5) + LISTED, FOUR, {f"{SECOND}/1/1": hard})
    (assumption,) = harness.plan().assumptions
    assert assumption.startswith("No hints for «Thing FR-3 is done»: ") and " 4 model calls " in assumption


def test_model_that_never_groups_is_given_up_within_the_call_limit(tmp_path: Path) -> None:
    harness = PlanningHarness(tmp_path)
    harness.model.otherwise = harness.strong.otherwise = lambda _: says("certainly!")
    with pytest.raises(ModelRefused, match=r"as decomposer_cycles, .*: Invalid JSON"):
        harness.plan()
    assert len(harness.calls()) == 4


def test_question_is_the_last_part_of_the_prompt(tmp_path: Path) -> None:
    harness = PlanningHarness(tmp_path, functional(5) + LISTED, FOUR)
    harness.plan()
    asked = next(request for request in harness.model.requests if request.purpose.phase == "plan-tasks-cycle-3")
    assert last_text(asked).startswith('# The cycle to split\n<material name="cycle-3">\ncycle-3: Three\n')
