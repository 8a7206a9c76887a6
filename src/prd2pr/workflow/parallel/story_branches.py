"""Work on a story on its own branch until it is ready to be integrated.

A story's branch starts at the PRD's head and has the same phases, gates and records as a PRD's branch. `merge_queue`
integrates it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from prd2pr.domain.machines.next_action import check_human_stop, find_next_story, find_story_action
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.records import NO_REFACTORING, Phase
from prd2pr.errors import BranchMoved
from prd2pr.state.store import StateStore
from prd2pr.workflow.breakers import record_failures
from prd2pr.workflow.merges import load_join_sides
from prd2pr.workflow.next_action import load_action_context
from prd2pr.workflow.parallel.merge_queue import IntegrationResult, integrate_story
from prd2pr.workflow.parallel.restart import rebase_restarted_story
from prd2pr.workflow.parallel.story_session import list_story_branches, make_story_branch_name, make_story_session
from prd2pr.workflow.record_merge import find_trunk_decision
from prd2pr.workflow.roles.role_runner import clean_up_leftovers
from prd2pr.workflow.run import (
    MAX_RACES,
    get_current_head,
    load_position,
    move_journal_to_head,
    refuse_checked_out,
    refuse_lost_steps,
    run_phase_step,
)
from prd2pr.workflow.session import Session

__all__ = [
    "READY",
    "IntegrationResult",
    "LeftOverResult",
    "StoryAttempt",
    "finish_left_over_stories",
    "integrate_story",
    "list_story_branches",
    "make_story_branch_name",
    "make_story_session",
    "work_on_story",
]  # fmt: skip

READY = "it waits to be integrated"
STEP_LIMIT_REACHED = "the step limit is reached"


@dataclass(frozen=True)
class StoryAttempt:
    """The progress of a story on its own branch. `stop` says why the work ended."""

    story: str
    head: str
    steps: int
    stop: NoAction
    session: Session  # the story's session, with the journal and run record for `integrate_story`
    ready: bool = False  # ready to be integrated
    note: str = ""  # the note that there is no refactoring, recorded with the integration


def work_on_story(session: Session, story: str, max_steps: int | None = None) -> StoryAttempt:
    """Work on one story on its own branch until it is ready, blocked or stopped.

    `session` is the PRD's session. Work that a killed run left is resumed. Errors are raised, as by `run_prd`.
    """
    own = session if session.target.prd_branch else make_story_session(session, story)
    with session.git.lock(f"story-{session.prd.id}-{story}"):
        refuse_checked_out(own)
        clean_up_leftovers(own)
        tip = session.git.branch_head(own.target.branch)
        if tip is None:
            own.services.writer.move(own.target.branch, session.git.rev(own.target.prd_branch), None)
        else:
            rebase_restarted_story(own, story, tip)
        own.log.branch_writes.last = get_current_head(own)
        move_journal_to_head(own)
        return _run_until_stop(own, story, max_steps)


def _run_until_stop(own: Session, story: str, max_steps: int | None) -> StoryAttempt:
    steps = races = 0
    while max_steps is None or steps < max_steps:
        before = get_current_head(own)
        try:
            result = _run_story_step(own, story, before)
        except BranchMoved:
            races += 1
            refuse_lost_steps(own, own.log.branch_writes.last)
            own.services.journal.move_entries(before, get_current_head(own))
            if races >= MAX_RACES:
                raise
            continue
        races = 0
        if isinstance(result, NoAction):
            note = result.reason if result.reason.startswith(NO_REFACTORING) else ""
            ready = bool(note) or result.reason == READY
            return StoryAttempt(story, get_current_head(own), steps, result, own, ready, note)
        steps += 1
    return StoryAttempt(story, get_current_head(own), steps, NoAction("nothing", STEP_LIMIT_REACHED), own)


def _run_story_step(own: Session, story: str, head: str) -> str | NoAction:
    """Make one commit on the story's branch and return the new head, or a NoAction with the reason why not."""
    state = own.store.load(head)
    stopped = find_trunk_stop(own, story, head)
    if stopped is not None:
        return stopped
    context = load_action_context(own, state, story)
    story_record = find_next_story(context)
    if isinstance(story_record, NoAction):
        return story_record
    if story_record.status == "blocked":
        cycle = state.cycle(story)
        return NoAction("blocked", f"{story}: {cycle.blocked if cycle else 'a person decides'}")
    action = find_story_action(context, story_record)
    if isinstance(action, NoAction):
        return action
    if action.phase is Phase.INTEGRATED:
        return NoAction("nothing", READY)
    with record_failures(own, action.phase, story):
        return run_phase_step(own, load_position(own, head, state, story_record), action.phase)


def find_trunk_stop(own: Session, story: str, head: str) -> NoAction | None:
    """Return a stop if a decision on the PRD's branch since the fork point affects this story."""
    trunk = own.git.rev(own.target.prd_branch)
    fork_point = own.git.merge_base(trunk, head)
    if fork_point is None or fork_point == trunk:
        return None
    trunk_state = StateStore(own.git, own.prd.id).load(trunk)
    stopped = check_human_stop(load_action_context(own, trunk_state, story))
    if stopped is not None:
        return stopped
    decision = find_trunk_decision(load_join_sides(own.git, own.prd.id, story, (fork_point, trunk, head)))
    return NoAction("stopped", decision) if decision else None


# --- stories left over by earlier runs --------------------------------------------------------------------------------


@dataclass(frozen=True)
class LeftOverResult:
    """The number of steps made on left-over stories. If `stop` is None, work on the PRD's branch can continue."""

    steps: int = 0
    stop: NoAction | None = None


def finish_left_over_stories(session: Session, max_steps: int | None = None) -> LeftOverResult:
    """Finish stories that a parallel run left on their own branches.

    `session` must have a shared ledger, so that all these stories share one budget.
    """
    steps = 0
    for story in list_story_branches(session):
        if session.target.story and story != session.target.story:
            continue
        result = _finish_story(session, story, None if max_steps is None else max_steps - steps)
        steps += result.steps
        if result.stop is not None:
            return LeftOverResult(steps, result.stop)
    is_limit_reached = bool(steps) and max_steps is not None and steps >= max_steps
    return LeftOverResult(steps, NoAction("stopped", STEP_LIMIT_REACHED) if is_limit_reached else None)


def _finish_story(session: Session, story: str, max_steps: int | None) -> LeftOverResult:
    steps = 0
    while max_steps is None or steps < max_steps:
        own = replace(session, target=replace(session.target, integrates=True))
        attempt = work_on_story(own, story, None if max_steps is None else max_steps - steps)
        steps += attempt.steps
        try:
            if not attempt.ready and attempt.stop.outcome not in ("blocked", "stopped", "done"):
                return LeftOverResult(steps, attempt.stop)
            integration = integrate_story(session, story, attempt.session, attempt.note)
        finally:
            session.log.workers.lines += attempt.session.log.lines
            session.log.workers.spend += attempt.session.log.spend
        steps += integration.outcome == "integrated"
        if integration.outcome == "waiting" and attempt.stop.outcome != "blocked":
            return LeftOverResult(steps, NoAction("waiting", integration.reason))
        if integration.outcome != "again":
            return LeftOverResult(steps)
    return LeftOverResult(steps, NoAction("stopped", f"{story} is in progress on its own branch"))
