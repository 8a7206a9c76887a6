"""Commands that change nothing: each is answered from the branch as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from prd2pr.core.budget import SCOPE_NAMES, Budget, Scope, Unit
from prd2pr.core.burndown import burn_down
from prd2pr.core.command_help import Now, commands_now, help_rows
from prd2pr.core.effects.stories import current_story, cycle_of
from prd2pr.core.evidence import Finding
from prd2pr.core.explained import explained
from prd2pr.core.layout import log_path
from prd2pr.core.log_lines import readable, sentence, subject_of
from prd2pr.core.picture import PullPicture
from prd2pr.core.picture_parts import NextStep, StoryRow
from prd2pr.core.project_machine import apply_project
from prd2pr.core.records import SETTLED, Story
from prd2pr.core.refusal import Refusal
from prd2pr.core.said.answers import Answer, Illegal, NotNow
from prd2pr.core.said.readings import (
    BacklogRow,
    BacklogShown,
    BudgetRow,
    BudgetShown,
    Help,
    LogLine,
    Logs,
    Metrics,
    Overview,
    SprintShown,
    StateShown,
    StoryStatusShown,
)
from prd2pr.core.two_names import in_comments
from prd2pr.flows.containment import not_closed
from prd2pr.flows.decisions import found_in
from prd2pr.flows.drive import head_of
from prd2pr.flows.obey.asked import Asked
from prd2pr.flows.obey.meant import stories_meant
from prd2pr.flows.obey.proving import tests_run, verified
from prd2pr.flows.outlook import step_ahead
from prd2pr.flows.publish import picture_of
from prd2pr.flows.readiness import approved_in
from prd2pr.flows.session import Session
from prd2pr.flows.spent import budget_now
from prd2pr.repo.store import BranchState

NEWEST = 40  # lines of the log in one answer


def read(asked: Asked) -> Answer:
    """Some need no plan; the others say that there is none yet."""
    name = asked.command.name
    if not asked.state.planned and name not in WITHOUT_A_PLAN:
        return NotNow(asked.command.shown, f"{asked.session.prd.path} is not planned yet")
    return READS[name](asked)


# --- the project ------------------------------------------------------------------------------------------------------


def show_state(asked: Asked) -> Answer:
    ahead = step_ahead(asked.session, asked.state) if asked.state.planned else NextStep("")
    return StateShown(asked.state.status, commands_now(now(asked.state)), ahead)


def show_sprint(asked: Asked) -> Answer:
    refusal = apply_project(asked.state.status.state, asked.command.name)
    if isinstance(refusal, Refusal):
        return Illegal(refusal, step_ahead(asked.session, asked.state))
    sprint = found_in(asked.state).sprint
    if sprint is None:
        return NotNow(asked.command.shown, "there is no sprint", step_ahead(asked.session, asked.state))
    rows = tuple(row for row in picture_now(asked.session).board if row.id in sprint.stories)
    burned = burn_down(sprint, asked.state.backlog.stories, asked.state.cycle)
    return SprintShown(sprint, rows, asked.state.status.state, step_ahead(asked.session, asked.state), burned)


def show_backlog(asked: Asked) -> Answer:
    refusal = apply_project(asked.state.status.state, asked.command.name)
    if isinstance(refusal, Refusal):
        return Illegal(refusal, step_ahead(asked.session, asked.state))
    approved = approved_in(asked.session, asked.state)
    rows = tuple(backlog_row(story, approved) for story in asked.state.backlog.stories)
    return BacklogShown(rows, asked.state.backlog.questions, step_ahead(asked.session, asked.state))


def backlog_row(story: Story, approved: frozenset[str] | None) -> BacklogRow:
    return BacklogRow(
        id=story.id,
        title=story.title,
        kind=story.kind,
        status=story.status,
        priority=story.priority,
        criteria=len(story.criteria),
        depends_on=story.depends_on,
        approved=None if approved is None or story.status in SETTLED else story.id in approved,
    )


# --- the stories ------------------------------------------------------------------------------------------------------


def picture_now(session: Session) -> PullPicture:
    return picture_of(
        session.store,
        session.branch,
        session.limits,
        head=head_of(session),
        mode=session.approval,
        patches=False,
        rules=session.rules,
        refuted=session.rewritten.shas if session.rewritten else frozenset(),
    )


def show_story(asked: Asked) -> Answer:
    meant = stories_meant(asked.state, asked.command.name, asked.command.stories)
    current = current_story(asked.state.backlog)
    story = meant[0] if meant else current.id if current else ""
    if not story:
        return show_overview(asked)
    if story not in {each.id for each in asked.state.backlog.stories}:
        return NotNow(asked.command.shown, f"there is no story {story}", NextStep("", "/tdd overview"))
    row = board_row(asked.session, story)
    if row is None:
        reason = f"{story} is not among the stories that are shown; it is one of {len(asked.state.backlog.stories)}"
        return NotNow(asked.command.shown, reason, NextStep("", "/tdd overview"))
    return story_status(asked.session, asked.state, row)


def board_row(session: Session, story: str) -> StoryRow | None:
    return next((row for row in picture_now(session).board if row.id == story), None)


def story_status(session: Session, state: BranchState, row: StoryRow) -> StoryStatusShown:
    """The attempts are those at the present phase: what was refused since the last step that led on."""
    cycle = cycle_of(found_in(state), row.id)
    phases = {step.phase for step in cycle.steps} if cycle else set()
    refused = [each for each in cycle.refused if each.phase not in phases] if cycle else []
    findings = tuple(
        Finding(code=each.codes[0] if each.codes else "", severity="error", message=each.summary) for each in refused
    )
    return StoryStatusShown(
        row=row,
        state=cycle.state.value if cycle else "no cycle",
        attempts=len(refused),
        of=session.config.attempts,
        refused=findings,
        next=step_ahead(session, state),
        circuits=not_closed(session, state),
    )


def show_overview(asked: Asked) -> Answer:
    made = picture_now(asked.session)
    return Overview(
        made.board,
        made.figures,
        made.stories_in_all or len(made.board),
        step_ahead(asked.session, asked.state),
        not_closed(asked.session, asked.state),
    )


def show_logs(asked: Asked) -> Answer:
    story = "".join(stories_meant(asked.state, asked.command.name, asked.command.stories)[:1])
    lines = [
        LogLine(str(line["at"]), sentence(line))
        for run_id in asked.state.run_ids()
        for line in readable(asked.state.bytes_at(log_path(run_id)) or b"", log_path(run_id))
        if not story or subject_of(line) == story
    ]
    return Logs(tuple(lines[-NEWEST:]), len(lines), story)


def show_metrics(asked: Asked) -> Answer:
    only = stories_meant(asked.state, asked.command.name, asked.command.stories)
    made = picture_now(asked.session)
    cycles = [cycle for name in only or asked.state.cycle_ids if (cycle := asked.state.cycle(name)) is not None]
    refused = sum(len(cycle.refused) for cycle in cycles)
    attempts = sum(step.attempts for cycle in cycles for step in cycle.steps)
    costs = tuple(row for row in made.costs if not only or row.label.startswith(only))
    return Metrics(made.figures, costs, max(attempts, refused), refused)


def show_budget(asked: Asked) -> Answer:
    current = current_story(asked.state.backlog)
    spent = budget_now(asked.session, asked.state, current.id if current else "")
    now = asked.session.clock.monotonic()
    scopes: tuple[Scope, ...] = ("run", "story", "prd")
    units: tuple[Unit, ...] = ("usd", "tokens", "minutes")
    rows = tuple(budget_row(spent, scope, unit, now) for scope in scopes for unit in units)
    return BudgetShown(rows, step_ahead(asked.session, asked.state))


def budget_row(spent: Budget, scope: Scope, unit: Unit, now: float) -> BudgetRow:
    limit: float | None = getattr(spent.limits, f"{unit}_per_{scope}")
    used: float | None = {
        "usd": spent.spent(scope).usd,
        "tokens": spent.spent(scope).tokens,
        "minutes": spent.minutes(scope, now),
    }[unit]
    return BudgetRow(SCOPE_NAMES[scope], unit, used, limit)


# --- help -------------------------------------------------------------------------------------------------------------


def show_help(asked: Asked) -> Answer:
    return Help(help_rows(now(asked.state), asked.command.about), asked.state.status.state)


def now(state: BranchState, story: str = "") -> Now:
    """Of the story that is meant; else of the one that is worked on now."""
    current = current_story(state.backlog) if state.planned and not story else None
    story = current.id if current else story
    cycle = cycle_of(found_in(state), story) if story else None
    return Now(state.status.state, cycle.state if cycle else None, halted=state.status.halted)


def explain(asked: Asked) -> Answer:
    found = explained(asked.command.code)
    return replace(found, explanation=in_comments(found.explanation), hint=in_comments(found.hint))


READS: dict[str, Callable[[Asked], Answer]] = {
    "sprint status": show_sprint,
    "backlog view": show_backlog,
    "state": show_state,
    "tdd status": show_story,
    "tdd overview": show_overview,
    "tdd logs": show_logs,
    "tdd metrics": show_metrics,
    "tdd run_tests": tests_run,
    "tdd verify": verified,
    "tdd explain": explain,
    "tdd budget": show_budget,
    "tdd help": show_help,
}
WITHOUT_A_PLAN = frozenset({"state", "tdd explain", "tdd help"})
