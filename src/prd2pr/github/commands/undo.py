"""`/tdd undo`: revert the last phase with a new commit. History is not rewritten, and commits by people are kept."""

from __future__ import annotations

from prd2pr.domain.machines.story_transitions import apply_undo
from prd2pr.github.commands.drafts import find_position, not_now_result
from prd2pr.github.commands.request import CommandRequest, CommandResult
from prd2pr.github.commands.target import find_target_story
from prd2pr.github.messages import replies
from prd2pr.proof.undone_steps import CannotUndo, plan_undo
from prd2pr.state.store import BranchState
from prd2pr.workflow.commits.notes import WorkNote, commit_work_note
from prd2pr.workflow.next_action import find_next_step
from prd2pr.workflow.session import Session


def execute_undo(session: Session, state: BranchState, request: CommandRequest) -> CommandResult:
    story = find_target_story(state, request)
    return story if isinstance(story, CommandResult) else undo_phase(session, request, story)


def undo_phase(session: Session, request: CommandRequest, story: str) -> CommandResult:
    position = find_position(session, request, story)
    if isinstance(position, CommandResult):
        return position
    found = plan_undo(session.store, position.head, story)
    if isinstance(found, CannotUndo):
        return not_now_result(position.head, request, f"undo refused: {found.reason}", f"/tdd status {story}")
    reason = request.command.text or request.why
    why = f": {reason}" if reason else ""
    note = WorkNote(
        text=f"{found.step.phase.value} (step {found.step.n}) undone by {request.by}{why}",
        cycle=apply_undo(position.cycle, found.earlier),
        code_tree=found.tree,
        body=f"The code is as it was before step {found.step.n}; commits that people pushed since are kept.",
        undoes=found.step.n,
        by=request.by,
    )
    session.log.branch_writes.pending = request.settles
    head, cycle = commit_work_note(session, position, note)
    answer = replies.CommandDone(
        "tdd undo",
        request.by,
        stories=(story,),
        text=reason,
        before=position.cycle.state,
        after=cycle.state,
        sha=head,
        next=find_next_step(session, session.store.load(head)),
    )
    return CommandResult(head, answer)
