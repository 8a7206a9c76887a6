"""`/tdd next` and `/tdd run`: check whether the next phases may start. The main loop of the run then executes them."""

from __future__ import annotations

from dataclasses import replace

from prd2pr.domain.decision import Decision
from prd2pr.domain.machines.branch_records import BranchRecords
from prd2pr.domain.machines.command_aliases import to_slash_commands
from prd2pr.domain.machines.next_action import ActionContext, find_next_action
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.machines.refusal import CommandRefusal
from prd2pr.domain.machines.story_machine import check_cycle_command
from prd2pr.github.commands.approval import (
    commit_approval,
    find_implied_approval,
    is_awaiting_approval,
    preview_approval,
)
from prd2pr.github.commands.request import CommandRequest, CommandResult
from prd2pr.github.commands.target import resolve_stories
from prd2pr.github.messages.replies import CommandReply, IllegalReply, NotNow
from prd2pr.planning.decisions.stories import find_or_create_cycle
from prd2pr.state.store import BranchState
from prd2pr.views.models import NO_NEXT_STEP, NextStep
from prd2pr.workflow.commits.decisions import AppliedDecision, apply_decision
from prd2pr.workflow.next_action import find_branch_action, find_next_step, load_action_context
from prd2pr.workflow.run import refuse_checked_out
from prd2pr.workflow.session import Session
from prd2pr.workflow.spending import find_reached_limit


def allow_work(session: Session, state: BranchState, request: CommandRequest) -> CommandResult:
    """Check whether the work may start. The caller then runs the phases that the result allows."""
    refuse_checked_out(session)
    with session.git.lock(f"branch-{session.prd.id}"):
        return _allow_locked(session, state, request)


def _allow_locked(session: Session, state: BranchState, request: CommandRequest) -> CommandResult:
    """Allow one phase, whose commit moves the cursor, or record a run command, which also applies to later runs."""
    name = request.command.name
    story = "".join(resolve_stories(state, name, request.command.stories)[:1])
    granted = approve_and_check(session, state, request, story)
    if not isinstance(granted, BranchState):
        return CommandResult(state.commit, granted)
    state = granted
    if name == "tdd next":
        session.log.branch_writes.pending = request.settles
        return CommandResult(state.commit, steps_wanted=1, story=story)
    return record_run_command(session, state, request, story)


def approve_and_check(
    session: Session, state: BranchState, request: CommandRequest, story: str
) -> BranchState | CommandReply:
    """Return the state to work from, or a reply if the command is refused.

    If the command implies an approval, the check assumes it, and the approval is committed only after the check.
    """
    context = load_action_context(session, state, story)
    if not is_awaiting_approval(session, state):
        return find_objection(session, state, request, context) or state
    approval = find_implied_approval(session, state, request, story)
    found = preview_approval(session, state, request, story, approval)
    if not isinstance(found, BranchRecords):
        return found
    objection = find_objection(session, state, request, replace(context, records=found))
    return objection or commit_approval(session, state, approval)


def record_run_command(session: Session, state: BranchState, request: CommandRequest, story: str) -> CommandResult:
    head = state.commit
    if (state.status.order, state.status.order_story) == ("run", story):
        # already in force, so the next commit also records this command
        session.log.branch_writes.pending = request.settles
        return CommandResult(head, steps_wanted=None, run=True, story=story)
    session.log.branch_writes.pending = request.settles
    decision = Decision(
        command="tdd run", by=request.by, at=session.clock.now(), text=request.why, stories=(story,) if story else ()
    )
    decided = apply_decision(session, head, decision)
    assert isinstance(decided, AppliedDecision), "it was granted"
    return CommandResult(decided.head, steps_wanted=None, run=True, story=story)


def find_objection(
    session: Session, state: BranchState, request: CommandRequest, context: ActionContext
) -> CommandReply | None:
    """Check the command in this context. The reply names the next step in the current state."""
    shown = request.command.shown
    following = find_next_action(context)
    if isinstance(following, NoAction):
        really = find_branch_action(session, state) if is_awaiting_approval(session, state) else following
        why = NotNow.of(shown, replace(following, next=really.next) if isinstance(really, NoAction) else following)
        return why if why.next != NO_NEXT_STEP else replace(why, next=find_next_step(session, state))
    meant = following.story.id
    refusal = check_story_machine(session, context.records, request.command.name, meant)
    if refusal is not None:
        return IllegalReply(refusal, find_next_step(session, state))
    stop = find_reached_limit(session, state, meant)
    return NotNow(shown, stop.what, NextStep(to_slash_commands(stop.remedy))) if stop else None


def check_story_machine(session: Session, found: BranchRecords, name: str, story: str) -> CommandRefusal | None:
    """Return the refusal of the story's state machine, if any.

    If sprints start automatically, the story's cycle starts with the sprint, so a missing cycle is no obstacle.
    """
    cycle = find_or_create_cycle(found, story)
    if cycle is None and session.constraints.approval in ("given", "none"):
        return None
    answer = check_cycle_command(cycle.state if cycle else None, name)
    return answer if isinstance(answer, CommandRefusal) else None
