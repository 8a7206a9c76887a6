"""Carry the work on an unfinished story over to a branch to which people pushed before that work was published.

No model is asked again: the changes of each unpublished step become a draft on top of the people's commits, and the
gate of its phase judges the draft there. If a step conflicts with their commits, it is not carried over and its phase
starts again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from prd2pr.domain.machines.story_transitions import apply_draft, drop_undone_steps
from prd2pr.domain.records import Cycle, CycleState, Phase, Spend, Step
from prd2pr.state.git import CommitInfo
from prd2pr.state.work_ref import is_on_branch, list_work_refs
from prd2pr.verification.codebase import find_story_entries
from prd2pr.workflow.commits.human_steps import find_withheld_work
from prd2pr.workflow.commits.notes import WorkNote, commit_work_note, read_run_files
from prd2pr.workflow.human_commits import read_commit_step
from prd2pr.workflow.phases.attempts import Position
from prd2pr.workflow.session import Session

CARRIED_OVER = "carried over"


@dataclass(frozen=True)
class HeldWork:
    """Steps of a story that are on a work ref but not on the branch yet."""

    head: str
    base: str  # where they leave the branch
    cycle: Cycle
    steps: tuple[Step, ...]
    commits: tuple[CommitInfo, ...]  # oldest first


def carry_over_work(session: Session, position: Position, phase: Phase) -> Position:
    """Return the position with the unpublished work on this phase added as drafts, if there is any."""
    for work in find_held_work(session, position):
        note = make_carried_note(session, position, work, phase)
        if note is not None:
            position = commit_carried_note(session, position, note)
        drafted = draft_held_step(session, position, work, phase)
        if drafted is not None:
            return commit_carried_note(session, position, drafted)
    return position


def find_held_work(session: Session, position: Position) -> Iterator[HeldWork]:
    git, story = session.git, position.story.id
    if session.target.prd_branch:
        return
    for head in dict.fromkeys(list_work_refs(git, session.prd.id).values()):
        base = git.merge_base(position.head, head)
        if base is None or is_on_branch(git, head, position.head) or git.is_ancestor(position.head, head):
            continue
        before, cycle = session.store.load(base).cycle(story), session.store.load(head).cycle(story)
        steps = cycle.steps[len(before.steps) if before else 0 :] if cycle else ()
        if cycle and steps:
            yield HeldWork(head, base, cycle, steps, tuple(reversed(git.log(f"{base}..{head}"))))


def make_carried_note(session: Session, position: Position, work: HeldWork, phase: Phase) -> WorkNote | None:
    """Return a note with the costs, refusals and design of the unpublished steps, or None if such a note exists."""
    text = f"{CARRIED_OVER}: people pushed to the branch before {work.head[:10]} was published"
    current = position.cycle
    if any(step.note == text for step in current.steps):
        return None
    refused = work.cycle.refused[len(current.refused) :]
    writes = work.cycle.refused_writes[len(current.refused_writes) :]
    draft = phase is Phase.DESIGN and current.state is CycleState.DESIGN and work.cycle.design is not None
    updates = {
        "refused": (*current.refused, *refused),
        "refused_writes": (*current.refused_writes, *writes),
        **({"design": work.cycle.design} if draft else {}),
    }
    return WorkNote(
        text,
        current.model_copy(update=updates),
        position.code_tree,
        "No code has changed. The gates judge the held work again, on top of the commits by people.",
        draft=draft,
        spend=sum((step.spend for step in work.steps), Spend()),
        seconds=round(sum(step.seconds for step in work.steps), 3),
        files=read_run_files(session, work.base, work.head),
    )


def draft_held_step(session: Session, position: Position, work: HeldWork, phase: Phase) -> WorkNote | None:
    """Return the changes of the unpublished step of this phase as a draft on the current code."""
    numbers = {step.n for step in drop_undone_steps(work.cycle.steps) if step.phase is phase}
    done = [each for each in work.commits if is_step(each, position.story.id, numbers)]
    if phase not in (Phase.RED, Phase.GREEN, Phase.REFACTOR) or not done:
        return None
    text = f"{CARRIED_OVER}: {phase.value.upper()} of {done[-1].short}"
    # RED withholds code that people pushed; the draft must not lose it.
    withheld = find_withheld_work(session, position, phase)
    ours = withheld.head_tree if withheld else position.code_tree
    code = session.git.merge_code(done[-1].parents[0], ours, done[-1].sha)
    if code in (None, position.code_tree) or any(step.note == text for step in position.cycle.steps):
        return None
    assert code is not None, "checked above"
    entries = find_story_entries(session.git, code, position.story.id)
    cycle = apply_draft(position.cycle, phase, ((entry.path, entry.blob) for entry in entries))
    return WorkNote(text, cycle, code, "No gate has judged this here.", draft=True)


def is_step(commit: CommitInfo, story: str, numbers: set[int]) -> bool:
    step = read_commit_step(commit)
    return step is not None and step.story == story and step.n in numbers


def commit_carried_note(session: Session, position: Position, note: WorkNote) -> Position:
    pending, session.log.branch_writes.pending = session.log.branch_writes.pending, None
    try:
        head, cycle = commit_work_note(session, position, note)
    finally:
        session.log.branch_writes.pending = pending  # the phase answers the command
    session.progress.say("note", text=f"{position.story.id}: {note.text}")
    return replace(position, head=head, code_tree=note.code_tree, cycle=cycle, state=session.store.load(head))
