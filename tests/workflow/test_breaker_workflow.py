"""Infrastructure failures are counted, waited for, recorded with the next commit, and reset by a person."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from branch_stage import Stage, stage_of
from prd2pr.agents.models.base import Reply, Request
from prd2pr.domain.breakers.circuits import list_open_circuits
from prd2pr.domain.costs.budget import SPENT_NOTE
from prd2pr.domain.evidence import Finding
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.errors import CannotJudge, HubUnreachable, ModelProblem, ModelRefused, SpendLimit
from prd2pr.github.messages.query_replies import OverviewReply, StoryStatusReply
from prd2pr.github.messages.replies import CommandDone, NotNow
from prd2pr.proof.claims.commits import check_records
from prd2pr.proof.verify import load_claim
from prd2pr.state.codec import encode_document
from prd2pr.state.commit_message import read_step
from prd2pr.workflow.run import RunOutcome, run_prd
from prd2pr.workflow.run_end import record_spending
from prd2pr.workflow.session import RoleModel
from world import World

CIRCUITS = ".orch-state/prds/calc/circuits.json"


@dataclass
class Clock:
    time: datetime = field(default_factory=lambda: datetime.now(UTC))

    def now(self) -> str:
        return self.time.strftime("%Y-%m-%dT%H:%M:%SZ")

    def monotonic(self) -> float:
        return self.time.timestamp()

    def later(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


@dataclass
class Failing:
    """A model that fails on request and counts its calls."""

    problem: Exception
    asked: int = 0
    name: str = "failing"

    def reply(self, _: Request) -> Reply:
        self.asked += 1
        raise self.problem


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage_of(World(tmp_path_factory.mktemp("containment")).start()) as made:
        made.step()
        made.give("/approve")
        made.step()
        made.keep("designed")
        made.honest = made.session  # type: ignore[attr-defined]
        yield made


@pytest.fixture
def stage(staged: Stage) -> Stage:
    staged.session = replace(staged.honest, clock=Clock())  # type: ignore[attr-defined]
    staged.session.services.journal.settle()
    staged.back_to("designed")
    return staged


def failing(stage: Stage, problem: Exception | None = None) -> Failing:
    model = Failing(problem or ModelProblem("The model could not be reached in 6 tries"))
    stage.session = replace(
        stage.session, services=replace(stage.session.services, select_model=lambda *_: RoleModel(model))
    )
    return model


def repaired(stage: Stage) -> None:
    stage.session = replace(
        stage.session, services=replace(stage.session.services, select_model=stage.honest.services.select_model)
    )  # type: ignore[attr-defined]


def later(stage: Stage, seconds: float) -> None:
    clock = stage.session.clock
    assert isinstance(clock, Clock)
    clock.later(seconds)


def try_run(stage: Stage) -> RunOutcome | Exception:
    try:
        return run_prd(stage.session, 1)
    except (ModelProblem, CannotJudge, HubUnreachable) as problem:
        return problem


def stop_of(stage: Stage) -> NoAction:
    driven = try_run(stage)
    assert isinstance(driven, RunOutcome)
    assert driven.steps == 0
    return driven.stop


def fail(stage: Stage, times: int = 3) -> None:
    for _ in range(times):
        assert not isinstance(try_run(stage), RunOutcome)


def open_ones(stage: Stage) -> set[str]:
    return {circuit.name for circuit in list_open_circuits(stage.state.circuits)}


@pytest.mark.slow
def test_after_three_failures_no_call_is_made_until_the_timeout(stage: Stage) -> None:
    model = failing(stage)
    fail(stage)
    stop = stop_of(stage)
    assert model.asked == 3
    assert stop.outcome == "waiting"
    assert "are open" in stop.reason and "The model could not be reached" in stop.reason
    assert stop.next == "/tdd reset"
    later(stage, 299)
    assert stop_of(stage).outcome == "waiting"
    assert model.asked == 3
    later(stage, 1)
    fail(stage, 1)
    assert (model.asked, stop_of(stage).outcome) == (4, "waiting"), "one probe, and it opens again"


def test_next_commit_records_the_recovery(stage: Stage) -> None:
    failing(stage)
    fail(stage)
    later(stage, 300)
    repaired(stage)
    stage.step()
    assert open_ones(stage) == set()
    circuits = stage.state.circuits.circuits
    assert {len(circuit.openings) for circuit in circuits} == {1}, "that they were open counts on"
    assert stage.wrong() == []


@pytest.mark.slow
def test_ordinary_work_records_no_breakers(stage: Stage) -> None:
    stage.step(2)
    assert stage.state.read_bytes(CIRCUITS) is None


def test_failures_of_an_ephemeral_run_are_recorded_on_the_branch(stage: Stage) -> None:
    failing(stage)
    for _ in range(3):
        fail(stage, 1)
        record_spending(stage.session)
        stage.session.services.journal.settle()  # the disk is gone
    assert open_ones(stage) == {"red", "replay", "system"}
    assert stage.session.git.commit_info(stage.head).subject.startswith(f"note(calc-1): {SPENT_NOTE}")
    assert stop_of(stage).outcome == "waiting"
    assert stage.wrong() == []


def test_unusable_model_answers_block_only_their_story(stage: Stage) -> None:
    failing(stage, ModelRefused("nothing but noise"))
    ended = try_run(stage)
    assert isinstance(ended, RunOutcome) and ended.stop.outcome == "blocked"
    assert "nothing but noise (4 of 4 attempts)" in ended.stop.reason


@pytest.mark.parametrize(
    ("problem", "stages"),
    [
        (CannotJudge("the tests cannot be run"), {"red"}),
        (HubUnreachable("GitHub does not answer"), {"push"}),
        (SpendLimit("the budget is used up"), set()),
    ],
)
def test_which_errors_count_as_failures_of_which_breaker(stage: Stage, problem: Any, stages: set[str]) -> None:
    failing(stage, problem)
    fail(stage)
    record_spending(stage.session)
    assert open_ones(stage) == stages


def test_reset_by_a_person_resumes_work_at_once(stage: Stage) -> None:
    assert isinstance(stage.give("/tdd reset").answer, NotNow), "nothing is open"
    failing(stage)
    fail(stage)
    refused = stage.give("/tdd next").answer
    assert isinstance(refused, NotNow)
    assert refused.next.command == "/tdd reset"
    assert isinstance(stage.give("/tdd reset green").answer, NotNow), "that one is not open"
    obeyed = stage.give("/tdd reset")
    assert isinstance(obeyed.answer, CommandDone)
    assert open_ones(stage) == set()
    assert stage.state.status.transitions[-1].command == "/tdd reset"
    repaired(stage)
    stage.step()
    assert stage.wrong() == []


def test_single_breaker_can_be_reset(stage: Stage) -> None:
    failing(stage)
    fail(stage)
    stage.give("/tdd reset system")
    assert open_ones(stage) == {"red", "replay"}
    assert "replay" in stop_of(stage).reason


def test_status_reports_open_breakers(stage: Stage) -> None:
    failing(stage)
    fail(stage)
    shown = stage.give("/tdd status").answer
    assert isinstance(shown, StoryStatusReply)
    everything, model, phase = shown.circuits
    assert "of 1 of 1 models" in everything
    assert model.startswith("`replay` is open after 3 failures since ") and phase.startswith("`red` is open")
    overview = stage.give("/tdd overview").answer
    assert isinstance(overview, OverviewReply)
    assert overview.circuits == shown.circuits


def flapping(stage: Stage) -> None:
    failing(stage)
    fail(stage)
    for _ in range(3):
        later(stage, 301)
        fail(stage, 1)
    record_spending(stage.session)


@pytest.mark.slow
def test_flapping_breaker_waits_for_a_person(stage: Stage) -> None:
    flapping(stage)
    later(stage, 5 * 3600)
    assert all(circuit.by_hand for circuit in list_open_circuits(stage.state.circuits))
    stop = stop_of(stage)
    assert (stop.outcome, stop.next) == ("waiting", "/tdd reset")
    stage.give("/tdd reset")
    repaired(stage)
    stage.step()
    assert stage.wrong() == []


def findings_of(stage: Stage, tree: str) -> list[Finding]:
    """Findings about the last commit if it had this tree."""
    git = stage.session.git
    info = git.commit_info(stage.head)
    forged = git.commit(tree, list(info.parents), f"{info.subject}\n\n{info.body}", None)
    made = git.commit_info(forged)
    step = read_step(info.trailers)
    assert step is not None
    return list(check_records(load_claim(git, replace(made, trailers=info.trailers), step)))


@pytest.mark.slow
def test_step_that_closes_a_flapping_breaker_is_refused(stage: Stage) -> None:
    flapping(stage)
    stage.give("/tdd halt_all")
    git = stage.session.git
    empty = encode_document(stage.state.circuits.model_copy(update={"circuits": ()}))
    assert findings_of(stage, git.tree(stage.head)) == []
    forged = git.edit_tree(git.tree(stage.head), {CIRCUITS: empty})
    closed = findings_of(stage, forged)
    assert {(each.code, each.path) for each in closed} == {("VER106", CIRCUITS)}
    assert all("no person has reset it" in each.message for each in closed)
    path = ".orch-state/prds/calc/circuits2.json"
    (stray,) = findings_of(stage, git.edit_tree(git.tree(stage.head), {path: empty}))
    assert (stray.code, stray.path) == ("VER106", path)
    assert stray.message.startswith("this decision may not change")


@pytest.mark.slow
def test_reset_closes_only_the_chosen_breakers(stage: Stage) -> None:
    flapping(stage)
    stage.give("/tdd reset red")
    git = stage.session.git
    assert findings_of(stage, git.tree(stage.head)) == []
    empty = encode_document(stage.state.circuits.model_copy(update={"circuits": ()}))
    forged = git.edit_tree(git.tree(stage.head), {CIRCUITS: empty})
    assert [(each.code, each.path) for each in findings_of(stage, forged)] == [("VER106", CIRCUITS)]


@pytest.mark.slow
def test_reset_at_a_terminal(tmp_path) -> None:
    world = World(tmp_path).start()

    def broken() -> str:
        ended = world.program("next", "prds/calc.md", "--model", "command:false")
        assert ended.status == 1
        return ended.out + ended.err

    assert "no circuit breaker is open" in world.program("reset", "prds/calc.md").err
    assert world.next().status == 0
    for _ in range(3):
        assert "ended with status 1" in broken()
    assert "of 1 of 1 models" in broken()
    status = world.program("status")
    assert "breaker: `command` is open after 3 failures since" in status.out
    assert "Next: prd2pr reset prds/calc.md" in status.out
    assert world.program("status", "--json").json["prds"][0]["circuits"]
    assert "Reset: command, design, system." in world.program("reset", "prds/calc.md").out
    assert world.next().status == 0, "the work goes on at once"
    assert world.verify(f"main..{world.branch}", "--json").json["all_proved"]
    assert world.phases() == ["plan(calc)", "note(plan)", "note(plan)", "design(calc-1)"]


@pytest.mark.slow
def test_before_the_plan_failures_are_only_in_the_journal(tmp_path) -> None:
    world = World(tmp_path).start()
    for _ in range(3):
        assert world.program("run", "prds/calc.md", "--model", "command:false").status == 1
    stopped = world.program("run", "prds/calc.md", "--model", "command:false")
    assert "of 1 of 1 models" in stopped.out
    assert "prd2pr reset prds/calc.md" in stopped.out
    assert world.program("reset", "prds/calc.md").status == 0
    assert world.next().status == 0
