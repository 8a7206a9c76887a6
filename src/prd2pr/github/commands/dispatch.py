"""Execute a command. `HANDLERS` maps each command to the handler of its family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from prd2pr.github.commands.decisions import execute_decision
from prd2pr.github.commands.drafts import execute_draft, execute_gates
from prd2pr.github.commands.help import list_allowed_commands
from prd2pr.github.commands.next_and_run import allow_work
from prd2pr.github.commands.queries import QUERIES, execute_query, list_machine_states
from prd2pr.github.commands.request import BranchQuery, CommandRequest, CommandResult
from prd2pr.github.commands.target import resolve_stories
from prd2pr.github.commands.undo import execute_undo
from prd2pr.github.context import GitHubContext
from prd2pr.github.messages.replies import IllegalReply, NotNow
from prd2pr.github.setup.onboarding import open_setup_pull
from prd2pr.state.store import BranchState
from prd2pr.views.models import NextStep
from prd2pr.workflow.run import get_current_head
from prd2pr.workflow.session import Session

CommandHandler = Callable[[Session, BranchState, CommandRequest], CommandResult]
REGISTER = "project register"


def execute_on_github(context: GitHubContext, session: Session, request: CommandRequest) -> CommandResult:
    """Execute a command, including `/project register`, which concerns the repository and not the PRD's branch."""
    if request.command.name == REGISTER:
        return CommandResult(get_current_head(session), open_setup_pull(context, session))
    return execute(session, request)


def execute(session: Session, request: CommandRequest) -> CommandResult:
    """Execute a command. Raises `BranchMoved` if another run was faster, so that the caller reloads the branch."""
    state = session.store.load(get_current_head(session))
    if not state.planned and request.command.name not in QUERIES:
        return reply_before_plan(session, state, request)
    result = HANDLERS[request.command.name](session, state, request)
    if not isinstance(result.answer, IllegalReply):
        return result
    # A state machine lists only its own commands, so add those of the other machine.
    stories = resolve_stories(state, request.command.name, request.command.stories)
    allowed = list_allowed_commands(list_machine_states(state, "".join(stories[:1])))
    refusal = replace(result.answer.refusal, allowed_now=allowed)
    return replace(result, answer=replace(result.answer, refusal=refusal))


def reply_before_plan(session: Session, state: BranchState, request: CommandRequest) -> CommandResult:
    """Accept `/tdd next` and `/tdd run`, because every run plans first. Other commands must wait for the plan."""
    if request.command.name in ("tdd next", "tdd run"):
        session.log.branch_writes.pending = request.settles
        return CommandResult(state.commit, steps_wanted=1)
    reason = f"{session.prd.path} is not planned yet"
    return CommandResult(
        state.commit, NotNow(request.command.shown, reason, NextStep("It is being planned."), waits=True)
    )


def answer_branch_query(session: Session, state: BranchState, request: CommandRequest) -> CommandResult:
    return CommandResult(state.commit, execute_query(BranchQuery(session, state, request.command)))


# All commands except `/project register`, which concerns the repository and needs GitHub.
HANDLERS: dict[str, CommandHandler] = {
    "epic": execute_decision,
    "approve": execute_decision,
    "sprint plan": execute_decision,
    "sprint start": execute_decision,
    "sprint pause": execute_decision,
    "sprint resume": execute_decision,
    "suggest_fix": execute_decision,
    "skip_task": execute_decision,
    "request_changes": execute_decision,
    "feedback": execute_decision,
    "backlog add_story": execute_decision,
    "backlog prioritize": execute_decision,
    "backlog remove": execute_decision,
    "tdd start": execute_decision,
    "tdd abort": execute_decision,
    "tdd skip_phase": execute_decision,
    "tdd retry": execute_decision,
    "tdd pause": execute_decision,
    "tdd resume": execute_decision,
    "tdd halt_all": execute_decision,
    "tdd reset": execute_decision,
    "tdd answer": execute_decision,
    "tdd next": allow_work,
    "tdd run": allow_work,
    "tdd design": execute_draft,
    "tdd test": execute_draft,
    "tdd code": execute_draft,
    "tdd refactor": execute_draft,
    "tdd commit-tests": execute_gates,
    "tdd commit-code": execute_gates,
    "tdd commit-refactor": execute_gates,
    "tdd commit": execute_gates,
    "tdd undo": execute_undo,
    **dict.fromkeys(QUERIES, answer_branch_query),
}
