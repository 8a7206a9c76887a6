"""`/tdd design|test|code|refactor` write a draft, and `/tdd commit-…` submits the work since the last step to a gate.

A draft is a commit that no gate has judged. People can review it and continue from it.
"""

from __future__ import annotations

from dataclasses import replace

from prd2pr.agents.outputs.story_roles import WorkReport
from prd2pr.agents.roles import BUILDER, REFACTORER, TESTER, Role
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.machines.refusal import CommandRefusal
from prd2pr.domain.machines.story_machine import check_cycle_command
from prd2pr.domain.machines.story_transitions import apply_draft, drop_undone_steps
from prd2pr.domain.records import NOTHING_TO_REFACTOR, UNTESTED_KINDS, CycleState, Phase
from prd2pr.github.commands.request import CommandRequest, CommandResult
from prd2pr.github.commands.target import find_target_story
from prd2pr.github.messages import replies
from prd2pr.planning.decisions.stories import find_or_create_cycle
from prd2pr.state.store import BranchState
from prd2pr.verification.codebase import find_story_entries
from prd2pr.views.models import NextStep
from prd2pr.views.pull_request.next_step import DRAFT_COMMANDS
from prd2pr.workflow.breakers import record_failures
from prd2pr.workflow.commits.decisions import read_decision_input
from prd2pr.workflow.commits.human_steps import find_work_to_judge, judge_from_base
from prd2pr.workflow.commits.notes import WorkNote, commit_work_note
from prd2pr.workflow.commits.phase_commit import commit_accepted_phase
from prd2pr.workflow.commits.text import format_phase_outcome
from prd2pr.workflow.next_action import find_branch_action, find_next_step
from prd2pr.workflow.phases.attempts import JudgedAttempt, Position, Stuck, make_work_assignment
from prd2pr.workflow.phases.judgment import AcceptedPhase
from prd2pr.workflow.phases.story_phases import DesignResult, ask_architect, run_integration
from prd2pr.workflow.roles.role_runner import run_assignment
from prd2pr.workflow.run import get_current_head, load_position, refuse_checked_out
from prd2pr.workflow.session import Session

DRAFT_ROLES: dict[str, Role[WorkReport]] = {"tdd test": TESTER, "tdd code": BUILDER, "tdd refactor": REFACTORER}
DRAFT_PHASES = {
    "tdd design": Phase.DESIGN,
    "tdd test": Phase.RED,
    "tdd code": Phase.GREEN,
    "tdd refactor": Phase.REFACTOR,
}
DRAFT_WRITERS = {Phase.RED: "/tdd test", Phase.GREEN: "/tdd code"}


def execute_draft(session: Session, state: BranchState, request: CommandRequest) -> CommandResult:
    story = find_work_story(session, state, request)
    if isinstance(story, CommandResult):
        return story
    with record_failures(session, DRAFT_PHASES[request.command.name], story):
        return write_draft(session, request, story)


def execute_gates(session: Session, state: BranchState, request: CommandRequest) -> CommandResult:
    story = find_work_story(session, state, request)
    return story if isinstance(story, CommandResult) else judge_drafts(session, request, story)


def find_work_story(session: Session, state: BranchState, request: CommandRequest) -> str | CommandResult:
    """Return the story to work on, or a reply if the project is paused or the plan is not approved."""
    story = find_target_story(state, request)
    if isinstance(story, CommandResult):
        return story
    action = find_branch_action(session, state)
    if isinstance(action, NoAction) and action.outcome in ("paused", "waiting"):
        return CommandResult(state.commit, replies.NotNow.of(request.command.shown, action))
    return story


def find_position(session: Session, request: CommandRequest, story: str) -> Position | CommandResult:
    """Return the story's position, or a reply if its state machine does not allow the command now."""
    refuse_checked_out(session)
    head = get_current_head(session)
    state = session.store.load(head)
    known = next((each for each in state.backlog.stories if each.id == story), None)
    if known is None:
        return not_now_result(head, request, f"story {story} does not exist", "/tdd overview")
    if known.status in ("done", "skipped"):
        return CommandResult(head, not_now_with_next_step(session, state, request, f"{story} is {known.status}"))
    cycle = find_or_create_cycle(read_decision_input(state), story)
    allowed = check_cycle_command(cycle.state if cycle else None, request.command.name)
    if isinstance(allowed, CommandRefusal):
        return CommandResult(head, replies.IllegalReply(allowed, find_next_step(session, state)))
    return load_position(session, head, state, known)


def not_now_with_next_step(
    session: Session, state: BranchState, request: CommandRequest, reason: str
) -> replies.NotNow:
    return replies.NotNow(request.command.shown, reason, find_next_step(session, state))


def not_now_result(head: str, request: CommandRequest, reason: str, command: str = "") -> CommandResult:
    return CommandResult(head, replies.NotNow(request.command.shown, reason, NextStep("", command)))


# --- drafts -----------------------------------------------------------------------------------------------------------


def write_draft(session: Session, request: CommandRequest, story: str) -> CommandResult:
    """Have the role work on one phase, and commit the result without a gate. The lock protects the role's directory."""
    with session.git.lock(f"branch-{session.prd.id}"):
        position = find_position(session, request, story)
        if isinstance(position, CommandResult):
            return position
        phase = DRAFT_PHASES[request.command.name]
        if phase is Phase.RED and position.story.kind in UNTESTED_KINDS:
            reason = f"{story} is a story of kind {position.story.kind}, which needs no tests"
            return CommandResult(position.head, not_now_with_next_step(session, position.state, request, reason))
        position = replace(position, request_text=request.command.text)
        note = draft_design(session, position) if phase is Phase.DESIGN else draft_work(session, position, request)
        if isinstance(note, Stuck):
            return CommandResult(position.head, not_now_with_next_step(session, position.state, request, note.reason))
        session.log.branch_writes.pending = request.settles
        head, _ = commit_work_note(session, position, sign_draft(note, request))
    paths = tuple(change.path for change in session.git.diff(position.code_tree, note.code_tree))
    then = find_next_step(session, session.store.load(head))
    return CommandResult(head, replies.DraftReply(story, paths, head, then))


def sign_draft(note: WorkNote, request: CommandRequest) -> WorkNote:
    reason = request.command.text or request.why
    why = f": {reason}" if reason else ""
    text = f"{note.text}, requested by {request.by}{why}"
    return replace(note, text=text, by=request.by)


def draft_design(session: Session, position: Position) -> WorkNote | Stuck:
    made = ask_architect(session, position)
    if not isinstance(made, DesignResult):
        return made
    cycle = apply_draft(position.cycle, Phase.DESIGN, design=made.design)
    body = f"{made.design.summary}\n\nNo code has changed."
    return WorkNote("draft of the design", cycle, position.code_tree, body, draft=True)


def draft_work(session: Session, position: Position, request: CommandRequest) -> WorkNote | Stuck:
    if session.config.permissions.mode == "reject":
        return Stuck("no worker may change files (`permissions: {mode: reject}` in .prd2pr.yml)")
    role = DRAFT_ROLES[request.command.name]
    assignment = make_work_assignment(session, position, role, (), 1)
    assignment = replace(assignment, policy=replace(assignment.policy, existing=frozenset()))
    if role is TESTER:
        assignment = replace(
            assignment, hidden_examples=False
        )  # everyone can read a draft, so it has no hidden examples
    work = run_assignment(session, assignment)
    if work.result.stop == "contradiction":
        return Stuck(f"the {role.title} found a contradiction: {work.result.explanation}")
    if work.code_tree == position.code_tree:
        return Stuck(f"the {role.title} wrote nothing: {work.result.explanation}")
    entries = find_story_entries(session.git, work.code_tree, position.story.id)
    cycle = apply_draft(position.cycle, role.phase, ((entry.path, entry.blob) for entry in entries))
    body = f"No gate has judged this.\n\nThe worker says: {work.result.explanation}"
    return WorkNote(f"draft for {role.phase.value.upper()}", cycle, work.code_tree, body, draft=True)


# --- gates ------------------------------------------------------------------------------------------------------------


def judge_drafts(session: Session, request: CommandRequest, story: str) -> CommandResult:
    """Judge all work since the last step, including commits by people, with the gates that the command names."""
    position = find_position(session, request, story)
    if isinstance(position, CommandResult):
        return position
    phases = list_phases_to_judge(session, request.command.name, position)
    done = judge_and_commit(session, request, position, phases[0], last=len(phases) == 1)
    for phase in phases[1:]:
        if done.head == position.head:
            break
        position = load_position(session, done.head, session.store.load(done.head), position.story)
        done = judge_and_commit(session, request, position, phase, last=phase is phases[-1])
    return done


def judge_and_commit(
    session: Session, request: CommandRequest, position: Position, phase: Phase, *, last: bool
) -> CommandResult:
    """Judge one phase and commit it if the gate accepts it.

    The commit of the last gate records the command, so that it is not repeated after a killed run.
    """
    started = session.clock.monotonic()
    result = judge_phase(session, position, phase)
    if isinstance(result, Stuck):
        written = DRAFT_WRITERS.get(phase, "")
        return not_now_result(
            position.head, request, result.reason, f"{written} {position.story.id}" if written else ""
        )
    at, outcome = result
    if isinstance(outcome, JudgedAttempt):
        return CommandResult(position.head, build_gate_reply(at, outcome, fix_step(at, outcome)))
    if last:
        session.log.branch_writes.pending = request.settles
    head = commit_accepted_phase(session, at, outcome, session.clock.monotonic() - started)
    then = find_next_step(session, session.store.load(head))
    return CommandResult(head, build_gate_reply(at, outcome.judged, then, head, outcome.note))


def list_phases_to_judge(session: Session, command: str, position: Position) -> tuple[Phase, ...]:
    """List the phases to judge. A refactoring is judged only if there is one; integration always follows."""
    if command in ("tdd commit-tests", "tdd commit-code"):
        return (Phase.RED,) if command == "tdd commit-tests" else (Phase.GREEN,)
    if position.cycle.state is CycleState.CODE_GREEN:
        return (Phase.GREEN, Phase.INTEGRATED)
    work = find_work_to_judge(session, position, Phase.REFACTOR)
    return (Phase.REFACTOR, Phase.INTEGRATED) if work else (Phase.INTEGRATED,)


def judge_phase(
    session: Session, position: Position, phase: Phase
) -> tuple[Position, AcceptedPhase | JudgedAttempt] | Stuck:
    if phase is Phase.INTEGRATED:
        refactored = any(step.phase is Phase.REFACTOR for step in drop_undone_steps(position.cycle.steps))
        result = run_integration(session, position, "" if refactored else NOTHING_TO_REFACTOR)
        return result if isinstance(result, Stuck) else (position, result)
    work = find_work_to_judge(session, position, phase)
    if work is None:
        return Stuck(f"{phase.value.upper()} has nothing to judge: there is no work since the last step")
    together, judged = judge_from_base(session, position, phase, work)
    return together, AcceptedPhase(phase, judged) if judged.verdict.accepted else judged


def fix_step(position: Position, judged: JudgedAttempt) -> NextStep:
    command = DRAFT_COMMANDS.get(judged.verdict.phase, "/tdd commit")
    return NextStep("Fix it on the branch, then comment", f"{command} {position.story.id}")


def build_gate_reply(
    position: Position, judged: JudgedAttempt, then: NextStep, head: str = "", note: str = ""
) -> replies.GateReply:
    verdict = judged.verdict
    return replies.GateReply(
        story=position.story.id,
        phase=verdict.phase.value,
        accepted=verdict.accepted,
        findings=verdict.findings,
        people=position.people,
        sha=head,
        outcome=format_phase_outcome(judged.evidence, note) if verdict.accepted else "",
        next=then,
    )
