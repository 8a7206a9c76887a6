"""Commands that make a single decision and a single commit, from `/approve` to `/tdd reset`."""

from __future__ import annotations

from prd2pr.domain.decision import Decision
from prd2pr.domain.machines.next_action import PhaseAction
from prd2pr.domain.machines.project_machine import PROJECT_COMMANDS, apply_project_command
from prd2pr.domain.machines.refusal import CommandRefusal
from prd2pr.domain.records import SETTLED
from prd2pr.errors import ModelProblem, PlanInvalid
from prd2pr.github.commands.approval import check_approval_is_current
from prd2pr.github.commands.new_stories import parse_story_text, plan_epic
from prd2pr.github.commands.request import CommandRequest, CommandResult
from prd2pr.github.commands.target import resolve_stories
from prd2pr.github.messages.replies import CommandDone, CommandReply, IllegalReply, NotNow, ProblemReply
from prd2pr.planning.decisions import Objection
from prd2pr.state.store import BranchState
from prd2pr.views.models import NextStep
from prd2pr.workflow.breaker_reset import RESET, flush_failures
from prd2pr.workflow.commits.decisions import AppliedDecision, apply_decision
from prd2pr.workflow.next_action import find_branch_action, find_next_step
from prd2pr.workflow.run import refuse_checked_out
from prd2pr.workflow.session import Session

APPROVAL_COMMANDS = ("approve", "sprint start")
PLANNED_COMMANDS = ("epic", "request_changes")


def execute_decision(session: Session, state: BranchState, request: CommandRequest) -> CommandResult:
    refuse_checked_out(session)
    with session.git.lock(f"branch-{session.prd.id}"):
        return commit_decision(session, state, request)


def commit_decision(session: Session, state: BranchState, request: CommandRequest) -> CommandResult:
    if request.command.name == RESET:
        state = flush_failures(session, state)
    decision = build_decision(session, state, request)
    if not isinstance(decision, Decision):
        return CommandResult(state.commit, decision)
    session.log.branch_writes.pending = request.settles
    decided = apply_decision(session, state.commit, decision)
    if isinstance(decided, AppliedDecision):
        return make_decision_result(session, decided, decision)
    session.log.branch_writes.pending = None
    if isinstance(decided, CommandRefusal):
        return CommandResult(state.commit, IllegalReply(decided, find_next_step(session, state)))
    return CommandResult(state.commit, reply_to_objection(session, state, request, decided))


def reply_to_objection(session: Session, state: BranchState, request: CommandRequest, objection: Objection) -> NotNow:
    """Return the objection with its own remedy or, if it has none, with the next step."""
    following = NextStep("", objection.next) if objection.next else find_next_step(session, state)
    return NotNow(request.command.shown, objection.reason, following)


def build_decision(session: Session, state: BranchState, request: CommandRequest) -> Decision | CommandReply:
    """Build the decision. The state machine is checked before a role is called, so a refused command costs nothing."""
    command = request.command
    refusal = apply_project_command(state.status.state, command.name) if command.name in PROJECT_COMMANDS else None
    if isinstance(refusal, CommandRefusal):
        return IllegalReply(refusal, find_next_step(session, state))
    late = check_approval_is_current(session, state, request) if command.name in APPROVAL_COMMANDS else None
    if late is not None:
        return late
    decision = Decision(
        command=command.name,
        by=request.by,
        at=session.clock.now(),
        text=command.text or request.why,
        stories=resolve_stories(state, command.name, command.stories),
        number=command.number,
        circuit=command.circuit,
        head=state.commit,
        replans=command.name == "tdd answer",
        applies=command.name == "tdd answer",
    )
    if command.name == "backlog add_story":
        return decision.model_copy(update={"added": (parse_story_text(session.prd, state.backlog, command.text),)})
    if command.name in PLANNED_COMMANDS:
        return plan_new_stories(session, state, request, decision)
    return decision


def plan_new_stories(
    session: Session, state: BranchState, request: CommandRequest, decision: Decision
) -> Decision | CommandReply:
    try:
        made = plan_epic(session, state.commit, state.backlog, decision.text)
    except (PlanInvalid, ModelProblem) as problem:
        return ProblemReply.of(request.command.shown, problem)
    new = {"epics": made.epics, "added": made.stories, "questions": made.questions, "assumptions": made.assumptions}
    return decision.model_copy(update=new)


def make_decision_result(session: Session, decided: AppliedDecision, decision: Decision) -> CommandResult:
    left, state = decided.left, session.store.load(decided.head)
    before, after = decided.found.status.state.value, left.status.state.value
    if left.about:
        found = decided.found.cycle(left.about)
        before, after = (found.state.value if found else ""), left.cycles[left.about].state.value
    answer = CommandDone(
        command=decision.command,
        by=decision.by,
        stories=list_affected_stories(decided, decision),
        text=str(decision.number) if decision.number is not None else decision.circuit or decision.text,
        before=before,
        after=after,
        sha=decided.head,
        next=find_next_step(session, state),
    )
    goes_on = left.status.order == "run" and isinstance(find_branch_action(session, state), PhaseAction)
    return CommandResult(
        decided.head, answer, steps_wanted=None if goes_on else 0, run=goes_on, story=left.status.order_story
    )


def list_affected_stories(decided: AppliedDecision, decision: Decision) -> tuple[str, ...]:
    if decision.added:
        return tuple(story.id for story in decision.added)
    if decision.stories:
        return decision.stories
    if decision.command in ("sprint plan", "sprint start") and decided.left.sprint:
        return decided.left.sprint.stories
    if decision.command == "tdd resume":
        return tuple(story.id for story in decided.left.backlog.stories if story.status not in SETTLED)
    return ()
