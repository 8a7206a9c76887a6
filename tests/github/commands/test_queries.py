"""Queries: they answer from the branch, and leave it unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from branch_stage import Stage, stage_of
from prd2pr.domain.costs.budget import UsageLimits
from prd2pr.domain.machines.commands import COMMANDS, READ_ONLY_COMMANDS
from prd2pr.domain.records import CycleState, ProjectState
from prd2pr.github.commands.decisions import execute_decision
from prd2pr.github.commands.dispatch import HANDLERS, REGISTER
from prd2pr.github.commands.queries import QUERIES
from prd2pr.github.messages.query_replies import (
    BacklogReply,
    BudgetReply,
    ExplainReply,
    HelpReply,
    LogsReply,
    MetricsReply,
    OverviewReply,
    SprintReply,
    StateReply,
    StoryStatusReply,
    TestRunReply,
    VerifyReply,
)
from prd2pr.github.messages.rendering import render_reply
from prd2pr.github.messages.replies import NotNow
from prd2pr.planning.decisions import EFFECTS
from prd2pr.workflow.sprint_start import block_sprint_for_ci
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


def test_every_command_has_a_handler() -> None:
    assert set(HANDLERS) | {REGISTER} == set(COMMANDS)
    assert {name for name, handler in HANDLERS.items() if handler is execute_decision} == (
        (set(EFFECTS) & set(COMMANDS)) - {"tdd run"}
    )
    assert {*QUERIES, REGISTER} == set(READ_ONLY_COMMANDS)


@pytest.mark.parametrize("name", sorted(READ_ONLY_COMMANDS - {"tdd verify", "tdd run_tests", REGISTER}))
def test_queries_change_nothing_and_can_be_rendered(stage: Stage, name: str) -> None:
    before = stage.head
    obeyed = stage.give("/tdd explain RED104" if name == "tdd explain" else f"/{name}")
    assert (obeyed.head, stage.head, obeyed.steps_wanted, obeyed.run) == (before, before, 0, False)
    assert obeyed.answer is not None
    assert len(render_reply(obeyed.answer)) > 40


def test_the_state_lists_what_is_allowed(stage: Stage) -> None:
    answer = stage.give("/state").answer
    assert isinstance(answer, StateReply)
    assert answer.status.state is ProjectState.SPRINT_ACTIVE
    assert "/sprint pause" in answer.allowed
    assert "/sprint start" not in answer.allowed


def test_stories_are_listed(stage: Stage) -> None:
    one = stage.give("/tdd status").answer
    assert isinstance(one, StoryStatusReply)
    assert (one.row.id, one.state, one.of) == ("calc-1", CycleState.REFACTOR, 4)
    assert isinstance(stage.give("/tdd status calc-9").answer, NotNow)
    overview = stage.give("/tdd overview").answer
    assert isinstance(overview, OverviewReply)
    assert [row.id for row in overview.rows] == ["calc-1", "calc-2"]
    sprint = stage.give("/sprint status").answer
    assert isinstance(sprint, SprintReply)
    assert sprint.sprint.id == "s1"
    assert [point.left for point in sprint.burned] == [2]
    backlog = stage.give("/backlog view").answer
    assert isinstance(backlog, BacklogReply)
    assert {row.id for row in backlog.rows} == {"calc-1", "calc-2"} == backlog.approved


def test_logs_and_metrics_are_reported(stage: Stage) -> None:
    logs = stage.give("/tdd logs calc-1").answer
    assert isinstance(logs, LogsReply)
    assert any("calc-1 red passed at attempt 1" in line.text for line in logs.lines)
    assert not any("calc-2" in line.text for line in logs.lines)
    metrics = stage.give("/tdd metrics").answer
    assert isinstance(metrics, MetricsReply)
    assert (metrics.attempts, metrics.refused) == (3, 0)


@pytest.mark.slow
def test_tests_and_proofs_are_run_again(stage: Stage) -> None:
    tests = stage.give("/tdd run_tests").answer
    assert isinstance(tests, TestRunReply)
    assert (tests.collected, tests.passed, tests.failed, tests.problems) == (3, 3, 0, ())
    proved = stage.give("/tdd verify").answer
    assert isinstance(proved, VerifyReply)
    assert (proved.steps, proved.proved, proved.not_proved) == (5, 5, ())


def test_codes_are_explained_or_guessed(stage: Stage) -> None:
    answer = stage.give("/tdd explain red104").answer
    assert isinstance(answer, ExplainReply)
    assert answer.title
    error = stage.give("/tdd explain ERR200").answer
    assert isinstance(error, ExplainReply)
    assert error.remedy
    unknown = stage.give("/tdd explain RED199").answer
    assert isinstance(unknown, ExplainReply)
    assert (unknown.title, bool(unknown.did_you_mean)) == ("", True)
    assert isinstance(stage.give("/tdd help").answer, HelpReply)


def test_an_exhausted_budget_stops_the_next_phase(stage: Stage) -> None:
    used = sum(step.seconds for step in stage.state.cycle("calc-1").steps) / 60
    assert used > 0
    for limits, word in (
        (UsageLimits(minutes_per_story=used / 2), "this story"),
        (UsageLimits(minutes_per_prd=used / 2), "this PRD"),
        (UsageLimits(tokens_per_run=1, minutes_per_run=1e-9), "this run"),
    ):
        poor = Stage(stage.world, replace(stage.session, constraints=replace(stage.session.constraints, limits=limits)))
        refused = poor.give("/tdd next")
        assert isinstance(refused.answer, NotNow)
        assert word in refused.answer.reason
        assert "`/tdd next` was not executed: the " in render_reply(refused.answer)
        assert refused.steps_wanted == 0
    rich = Stage(
        stage.world,
        replace(
            stage.session,
            constraints=replace(stage.session.constraints, limits=UsageLimits(minutes_per_story=used * 100)),
        ),
    )
    assert rich.give("/tdd next").steps_wanted == 1
    shown = rich.give("/tdd budget").answer
    assert isinstance(shown, BudgetReply)
    (row,) = [row for row in shown.rows if row.limit is not None]
    assert (row.scope, row.unit) == ("this story", "minutes")


def test_failing_ci_blocks_and_advice_unblocks(stage: Stage) -> None:
    rest = block_sprint_for_ci(stage.session, "CI failed on 3 commits in a row: lint")
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
