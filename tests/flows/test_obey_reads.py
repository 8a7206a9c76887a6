"""Reading commands: they answer from the branch, and leave it as it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from deciding import Stage, stage_of
from prd2pr.core.budget import Limits
from prd2pr.core.command_table import COMMANDS, READING
from prd2pr.core.effects import EFFECTS
from prd2pr.core.records import CycleState, ProjectState
from prd2pr.core.said.answers import NotNow
from prd2pr.core.said.readings import (
    BacklogShown,
    BudgetShown,
    Explained,
    Help,
    Logs,
    Metrics,
    Overview,
    SprintShown,
    StateShown,
    StoryStatusShown,
    TestsRun,
    Verified,
)
from prd2pr.flows.obey.carry import GRANTED, JUDGED
from prd2pr.flows.obey.drafts import DRAFTED
from prd2pr.flows.obey.reads import READS
from prd2pr.flows.onboarding import REGISTER
from prd2pr.flows.readiness import block_for_ci
from prd2pr.forges.said import render_answer
from world import World


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage_of(World(tmp_path_factory.mktemp("reads")).start()) as made:
        made.step()
        made.give("/approve")
        made.step(3)
        made.keep("green")
        yield made


@pytest.fixture(autouse=True)
def _at_green(stage: Stage) -> None:
    stage.back_to("green")


def test_every_command_of_the_table_is_carried_out_by_somebody() -> None:
    known = {*READS, REGISTER, *EFFECTS, *GRANTED, *JUDGED, *DRAFTED, "tdd undo"}
    assert set(COMMANDS) <= known
    assert {*READS, REGISTER} == set(READING)


@pytest.mark.parametrize("name", sorted(READING - {"tdd verify", "tdd run_tests", REGISTER}))
def test_reading_changes_nothing_and_can_be_shown(stage: Stage, name: str) -> None:
    before = stage.head
    obeyed = stage.give("/tdd explain RED104" if name == "tdd explain" else f"/{name}")
    assert (obeyed.head, stage.head, obeyed.steps_wanted, obeyed.run) == (before, before, 0, False)
    assert obeyed.answer is not None
    assert len(render_answer(obeyed.answer)) > 40


def test_the_state_is_told_with_what_is_allowed(stage: Stage) -> None:
    answer = stage.give("/state").answer
    assert isinstance(answer, StateShown)
    assert answer.status.state is ProjectState.SPRINT_ACTIVE
    assert "/sprint pause" in answer.allowed
    assert "/sprint start" not in answer.allowed


def test_stories_are_told(stage: Stage) -> None:
    one = stage.give("/tdd status").answer
    assert isinstance(one, StoryStatusShown)
    assert (one.row.id, one.state, one.of) == ("calc-1", CycleState.REFACTOR, 4)
    assert isinstance(stage.give("/tdd status calc-9").answer, NotNow)
    overview = stage.give("/tdd overview").answer
    assert isinstance(overview, Overview)
    assert [row.id for row in overview.rows] == ["calc-1", "calc-2"]
    sprint = stage.give("/sprint status").answer
    assert isinstance(sprint, SprintShown)
    assert sprint.sprint.id == "s1"
    assert [point.left for point in sprint.burned] == [2]
    backlog = stage.give("/backlog view").answer
    assert isinstance(backlog, BacklogShown)
    assert [row.approved for row in backlog.rows] == [True, True]


def test_logs_and_figures_are_told(stage: Stage) -> None:
    logs = stage.give("/tdd logs calc-1").answer
    assert isinstance(logs, Logs)
    assert any("calc-1 red crossed at attempt 1" in line.text for line in logs.lines)
    assert not any("calc-2" in line.text for line in logs.lines)
    metrics = stage.give("/tdd metrics").answer
    assert isinstance(metrics, Metrics)
    assert (metrics.attempts, metrics.refused) == (3, 0)


def test_tests_and_proofs_are_made_anew(stage: Stage) -> None:
    tests = stage.give("/tdd run_tests").answer
    assert isinstance(tests, TestsRun)
    assert (tests.collected, tests.passed, tests.failed, tests.problems) == (3, 3, 0, ())
    proved = stage.give("/tdd verify").answer
    assert isinstance(proved, Verified)
    assert (proved.steps, proved.proved, proved.not_proved) == (5, 5, ())


def test_codes_are_explained_or_guessed(stage: Stage) -> None:
    answer = stage.give("/tdd explain red104").answer
    assert isinstance(answer, Explained)
    assert answer.title
    error = stage.give("/tdd explain ERR200").answer
    assert isinstance(error, Explained)
    assert error.hint
    unknown = stage.give("/tdd explain RED199").answer
    assert isinstance(unknown, Explained)
    assert (unknown.title, bool(unknown.did_you_mean)) == ("", True)
    assert isinstance(stage.give("/tdd help").answer, Help)


def test_a_budget_that_is_used_up_stops_the_next_phase(stage: Stage) -> None:
    used = sum(step.seconds for step in stage.state.cycle("calc-1").steps) / 60
    assert used > 0
    for limits, word in (
        (Limits(minutes_per_story=used / 2), "this story"),
        (Limits(minutes_per_prd=used / 2), "this PRD"),
        (Limits(tokens_per_run=1, minutes_per_run=1e-9), "this run"),
    ):
        poor = Stage(stage.world, replace(stage.session, limits=limits))
        refused = poor.give("/tdd next")
        assert isinstance(refused.answer, NotNow)
        assert word in refused.answer.reason
        assert "`/tdd next` was not carried out: the " in render_answer(refused.answer)
        assert refused.steps_wanted == 0
    rich = Stage(stage.world, replace(stage.session, limits=Limits(minutes_per_story=used * 100)))
    assert rich.give("/tdd next").steps_wanted == 1
    shown = rich.give("/tdd budget").answer
    assert isinstance(shown, BudgetShown)
    (row,) = [row for row in shown.rows if row.limit is not None]
    assert (row.scope, row.unit) == ("this story", "minutes")


def test_failing_ci_blocks_and_advice_goes_on(stage: Stage) -> None:
    rest = block_for_ci(stage.session, "CI failed on 3 commits in a row: lint")
    assert not isinstance(rest, str)
    assert rest.outcome == "blocked"
    assert stage.state.status.state is ProjectState.BLOCKED
    refused = stage.give("/tdd next")
    assert isinstance(refused.answer, NotNow)
    assert refused.answer.next.command.startswith("/suggest_fix")
    stage.give('/suggest_fix "the line is too long"')
    assert stage.state.status.advice == "the line is too long"
    assert stage.give("/tdd next").steps_wanted == 1
    assert stage.wrong() == []
