"""Start a sprint if it needs no approval; otherwise ask for approval."""

from __future__ import annotations

from prd2pr.domain.decision import BOT, Decision
from prd2pr.domain.machines.approval import is_chosen_sprint_done, list_approved_stories
from prd2pr.domain.machines.next_action import (
    STATES_WITHOUT_SPRINT,
    SUGGEST_FIX_COMMAND,
    check_human_stop,
    describe_approval_wait,
    is_approval_due,
    waits_for_person,
)
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.records import SETTLED, ProjectState
from prd2pr.planning.decisions.records import Objection
from prd2pr.planning.decisions.sprints import SPRINT_DONE
from prd2pr.state.cursors import is_processed
from prd2pr.state.store import BranchState
from prd2pr.workflow.commits.decisions import AppliedDecision, apply_decision
from prd2pr.workflow.next_action import load_action_context
from prd2pr.workflow.session import Session

WAITS_FOR_APPROVAL = "stories wait for approval"


def prepare_sprint(session: Session, head: str) -> str | NoAction:
    """Start a sprint if no approval is needed. Return the head to work from, or why work must wait."""
    state = session.store.load(head)
    if state.status.halted or all(story.status in SETTLED for story in state.backlog.stories):
        return head
    if state.status.state in STATES_WITHOUT_SPRINT:
        return begin_sprint(session, state)
    if state.status.state is ProjectState.SPRINT_ACTIVE and is_approval_due(load_action_context(session, state)):
        sprint = state.sprint(state.status.sprint) if state.status.sprint else None
        is_done = sprint is not None and is_chosen_sprint_done(sprint, state.backlog)
        result = apply_command(session, head, SPRINT_DONE if is_done else WAITS_FOR_APPROVAL, BOT)
        if isinstance(result, NoAction):
            return result
        context = load_action_context(session, session.store.load(result))
        return check_human_stop(context) or describe_approval_wait(context)
    return head


def begin_sprint(session: Session, state: BranchState) -> str | NoAction:
    """Start the sprint, unless it waits for a person's approval.

    Calling the program at a terminal counts as approval.
    """
    project_state = state.status.state
    if waits_for_person(context := load_action_context(session, state)):
        return describe_approval_wait(context)
    if project_state is ProjectState.IDLE:
        return state.commit
    if session.constraints.approval == "none" and project_state is ProjectState.BACKLOG_READY:
        return apply_command(session, state.commit, "approve", BOT, "approval: none")
    by = session.git.user_name()
    result = (
        apply_command(session, state.commit, "sprint plan", by)
        if project_state is ProjectState.BACKLOG_READY
        else state.commit
    )
    return result if isinstance(result, NoAction) else apply_command(session, result, "sprint start", by)


def apply_command(session: Session, head: str, command: str, by: str, text: str = "") -> str | NoAction:
    applied = apply_decision(
        session, head, Decision(command=command, by=by, at=session.clock.now(), text=text, head=head)
    )
    if isinstance(applied, Objection):
        return NoAction("waiting", applied.reason, applied.next)
    assert isinstance(applied, AppliedDecision), f"the state machine allows {command} here"
    return applied.head


def load_approved_stories(session: Session, state: BranchState) -> frozenset[str] | None:
    assert state.prd is not None, "only a plan can be approved"
    return list_approved_stories(session.constraints.approval, state.status, state.prd, state.backlog)


def is_carried_out_elsewhere(session: Session, head: str) -> bool:
    """Return whether another run has already executed the same comment or order."""
    pending = session.log.branch_writes.pending
    return pending is not None and is_processed(session.store.load(head).status, pending)


def block_sprint_for_ci(session: Session, reason: str) -> str | NoAction:
    """Block an active sprint after three CI failures (`domain/ci.py`), so that a person decides."""
    head = session.git.branch_head(session.target.branch)
    state = session.store.load(head) if head else None
    if state is None or not state.planned or state.status.state is not ProjectState.SPRINT_ACTIVE:
        return NoAction("nothing", "no sprint is active")
    result = apply_command(session, state.commit, "CI failed three times", BOT, reason)
    return result if isinstance(result, NoAction) else NoAction("blocked", reason, SUGGEST_FIX_COMMAND)
