"""Queries: commands that change nothing and are answered from the branch."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import replace

from prd2pr.domain.costs.budget import SCOPE_NAMES, Budget, BudgetScope, Unit
from prd2pr.domain.evidence import Finding
from prd2pr.domain.machines.command_aliases import to_slash_commands
from prd2pr.domain.machines.project_machine import apply_project_command
from prd2pr.domain.machines.refusal import CommandRefusal
from prd2pr.domain.questions import format_questions
from prd2pr.domain.records import Cycle
from prd2pr.error_table import ERRORS_BY_CODE
from prd2pr.github.commands.help import MachineStates, list_allowed_commands, list_help_rows
from prd2pr.github.commands.request import BranchQuery
from prd2pr.github.commands.target import resolve_stories
from prd2pr.github.commands.verification import show_test_run, show_verification
from prd2pr.github.messages.query_replies import (
    BacklogReply,
    BudgetReply,
    BudgetRow,
    ExplainReply,
    HelpReply,
    LogLine,
    LogsReply,
    MetricsReply,
    OverviewReply,
    SprintReply,
    StateReply,
    StoryStatusReply,
)
from prd2pr.github.messages.replies import CommandReply, IllegalReply, NotNow
from prd2pr.planning.decisions.stories import find_current_story, find_or_create_cycle
from prd2pr.planning.problems import PLAN_PROBLEMS
from prd2pr.reports.pull_request import build_pull_request_view
from prd2pr.state.layout import build_log_path
from prd2pr.state.log_lines import describe_log_entry, get_log_subject, parse_log
from prd2pr.state.store import BranchState
from prd2pr.verification.findings import FINDINGS, describe_severity
from prd2pr.views.burndown import compute_burndown
from prd2pr.views.models import NextStep, StoryCard
from prd2pr.views.pull_request.page import PullRequestView
from prd2pr.workflow.breakers import list_tripped_breakers
from prd2pr.workflow.commits.decisions import read_decision_input
from prd2pr.workflow.next_action import find_next_step
from prd2pr.workflow.run import get_current_head
from prd2pr.workflow.session import Session
from prd2pr.workflow.spending import compute_current_budget
from prd2pr.workflow.sprint_start import load_approved_stories

MAX_LOG_LINES = 40  # log lines in one reply


def explain_code(code: str) -> ExplainReply:
    kind = FINDINGS.get(code)
    if kind is not None:
        return ExplainReply(
            code, kind.title, kind.explanation, kind.bad, kind.good, kind.remedy, describe_severity(kind)
        )
    problem = PLAN_PROBLEMS.get(code)
    if problem is not None:
        return ExplainReply(code, problem.title, problem.explanation)
    error = ERRORS_BY_CODE.get(code)
    if error is not None:
        return ExplainReply(code, error.title, error.explanation, remedy=error.remedy)
    near = difflib.get_close_matches(code, [*FINDINGS, *PLAN_PROBLEMS, *ERRORS_BY_CODE], n=3, cutoff=0.6)
    return ExplainReply(code, did_you_mean=tuple(near))


def execute_query(query: BranchQuery) -> CommandReply:
    """Answer a query. Queries that need a plan reply that there is none yet."""
    name = query.command.name
    if not query.state.planned and name not in PLAN_OPTIONAL:
        return NotNow(query.command.shown, f"{query.session.prd.path} is not planned yet")
    return QUERIES[name](query)


# --- the project ------------------------------------------------------------------------------------------------------


def show_state(query: BranchQuery) -> CommandReply:
    next_step = find_next_step(query.session, query.state) if query.state.planned else NextStep("")
    return StateReply(query.state.status, list_allowed_commands(list_machine_states(query.state)), next_step)


def show_sprint(query: BranchQuery) -> CommandReply:
    refusal = apply_project_command(query.state.status.state, query.command.name)
    if isinstance(refusal, CommandRefusal):
        return IllegalReply(refusal, find_next_step(query.session, query.state))
    sprint = read_decision_input(query.state).sprint
    if sprint is None:
        return NotNow(query.command.shown, "there is no sprint", find_next_step(query.session, query.state))
    rows = tuple(row for row in build_current_view(query.session).board if row.id in sprint.stories)
    burned = compute_burndown(sprint, query.state.backlog.stories, query.state.cycle)
    return SprintReply(sprint, rows, query.state.status.state, find_next_step(query.session, query.state), burned)


def show_backlog(query: BranchQuery) -> CommandReply:
    refusal = apply_project_command(query.state.status.state, query.command.name)
    if isinstance(refusal, CommandRefusal):
        return IllegalReply(refusal, find_next_step(query.session, query.state))
    backlog, approved = query.state.backlog, load_approved_stories(query.session, query.state)
    return BacklogReply(
        backlog.stories, format_questions(backlog), find_next_step(query.session, query.state), approved
    )


# --- the stories ------------------------------------------------------------------------------------------------------


def build_current_view(session: Session) -> PullRequestView:
    return build_pull_request_view(
        session.store,
        session.target.branch,
        session.constraints.limits,
        head=get_current_head(session),
        mode=session.constraints.approval,
        patches=False,
        rules=session.constraints.paths,
        refuted=session.host.refuted.shas if session.host.refuted else frozenset(),
    )


def show_story(query: BranchQuery) -> CommandReply:
    meant = resolve_stories(query.state, query.command.name, query.command.stories)
    current = find_current_story(query.state.backlog)
    story = meant[0] if meant else current.id if current else ""
    if not story:
        return show_overview(query)
    if story not in {each.id for each in query.state.backlog.stories}:
        return NotNow(query.command.shown, f"story {story} does not exist", NextStep("", "/tdd overview"))
    row = build_board_row(query.session, story)
    if row is None:
        reason = f"the plan has {len(query.state.backlog.stories)} stories, and {story} is not among those shown"
        return NotNow(query.command.shown, reason, NextStep("", "/tdd overview"))
    return build_story_status(query.session, query.state, row)


def build_board_row(session: Session, story: str) -> StoryCard | None:
    return next((row for row in build_current_view(session).board if row.id == story), None)


def build_story_status(session: Session, state: BranchState, row: StoryCard) -> StoryStatusReply:
    """Build the status of a story, with the attempts refused since the last completed phase."""
    cycle = find_or_create_cycle(read_decision_input(state), row.id)
    phases = {step.phase for step in cycle.steps} if cycle else set()
    refused = [each for each in cycle.refused if each.phase not in phases] if cycle else []
    findings = tuple(
        Finding(code=each.codes[0] if each.codes else "", severity="error", message=each.summary) for each in refused
    )
    return StoryStatusReply(
        row=row,
        state=cycle.state.value if cycle else "no cycle",
        attempts=len(refused),
        of=session.config.attempts,
        refused=findings,
        next=find_next_step(session, state),
        circuits=list_tripped_breakers(session, state),
    )


def show_overview(query: BranchQuery) -> CommandReply:
    made = build_current_view(query.session)
    return OverviewReply(
        made.board,
        made.figures,
        made.stories_in_all or len(made.board),
        find_next_step(query.session, query.state),
        list_tripped_breakers(query.session, query.state),
    )


def show_logs(query: BranchQuery) -> CommandReply:
    story = "".join(resolve_stories(query.state, query.command.name, query.command.stories)[:1])
    lines = [
        LogLine(str(line["at"]), describe_log_entry(line))
        for run_id in query.state.run_ids()
        for line in parse_log(query.state.read_log(run_id), build_log_path(run_id))
        if not story or get_log_subject(line) == story
    ]
    return LogsReply(tuple(lines[-MAX_LOG_LINES:]), len(lines), story)


def show_metrics(query: BranchQuery) -> CommandReply:
    only = resolve_stories(query.state, query.command.name, query.command.stories)
    made = build_current_view(query.session)
    cycles = [cycle for name in only or query.state.cycle_ids if (cycle := query.state.cycle(name)) is not None]
    refused = sum(len(cycle.refused) for cycle in cycles)
    attempts = sum(step.attempts for cycle in cycles for step in cycle.steps)
    costs = tuple(row for row in made.costs if not only or row.label.startswith(only))
    measured = ((each.story, each.line_coverage) for each in sorted(cycles, key=get_last_step_time))
    coverage = tuple((story, found) for story, found in measured if found)
    return MetricsReply(made.figures, costs, max(attempts, refused), refused, coverage)


def get_last_step_time(cycle: Cycle) -> str:
    return cycle.steps[-1].at if cycle.steps else ""


def show_budget(query: BranchQuery) -> CommandReply:
    current = find_current_story(query.state.backlog)
    spent = compute_current_budget(query.session, query.state, current.id if current else "")
    now = query.session.clock.monotonic()
    scopes: tuple[BudgetScope, ...] = ("run", "story", "prd")
    units: tuple[Unit, ...] = ("usd", "tokens", "minutes")
    rows = tuple(build_budget_row(spent, scope, unit, now) for scope in scopes for unit in units)
    return BudgetReply(rows, find_next_step(query.session, query.state))


def build_budget_row(spent: Budget, scope: BudgetScope, unit: Unit, now: float) -> BudgetRow:
    limit: float | None = getattr(spent.limits, f"{unit}_per_{scope}")
    used: float | None = {
        "usd": spent.get_spent(scope).usd,
        "tokens": spent.get_spent(scope).tokens,
        "minutes": spent.get_minutes(scope, now),
    }[unit]
    return BudgetRow(SCOPE_NAMES[scope], unit, used, limit)


# --- help -------------------------------------------------------------------------------------------------------------


def show_help(query: BranchQuery) -> CommandReply:
    return HelpReply(list_help_rows(list_machine_states(query.state), query.command.about), query.state.status.state)


def list_machine_states(state: BranchState, story: str = "") -> MachineStates:
    """Return the states of the project and of this story, or of the current story if none is given."""
    current = find_current_story(state.backlog) if state.planned and not story else None
    story = current.id if current else story
    cycle = find_or_create_cycle(read_decision_input(state), story) if story else None
    return MachineStates(state.status.state, cycle.state if cycle else None, halted=state.status.halted)


def show_explanation(query: BranchQuery) -> CommandReply:
    found = explain_code(query.command.code)
    return replace(found, explanation=to_slash_commands(found.explanation), remedy=to_slash_commands(found.remedy))


QUERIES: dict[str, Callable[[BranchQuery], CommandReply]] = {
    "sprint status": show_sprint,
    "backlog view": show_backlog,
    "state": show_state,
    "tdd status": show_story,
    "tdd overview": show_overview,
    "tdd logs": show_logs,
    "tdd metrics": show_metrics,
    "tdd run_tests": show_test_run,
    "tdd verify": show_verification,
    "tdd explain": show_explanation,
    "tdd budget": show_budget,
    "tdd help": show_help,
}
PLAN_OPTIONAL = frozenset({"state", "tdd explain", "tdd help"})
