"""Restart a story whose branch could not be merged: keep the old branch under a ref and start again on the new base.

Refused attempts, spending, runs and logs stay on record. The design is kept as a draft.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from prd2pr.domain.evidence import Evidence
from prd2pr.domain.machines import phase_transitions
from prd2pr.domain.records import SETTLED, Cycle, CycleState, Phase, Step
from prd2pr.domain.wording import clean_line, clip
from prd2pr.state.commit_message import format_subject
from prd2pr.state.store import StateChange
from prd2pr.views.progress import render_progress
from prd2pr.workflow.commits.notes import read_run_files
from prd2pr.workflow.commits.phase_commit import PendingCommit, land_commit, make_ungated_evidence
from prd2pr.workflow.interfaces import BranchWriter
from prd2pr.workflow.phases.attempts import Position, collect_refused_writes, list_refused_attempts, sum_step_spend
from prd2pr.workflow.run import load_position
from prd2pr.workflow.session import Session

RESTART_NOTE = "restarted"
RESTART_NOTES = (RESTART_NOTE, "begun again")  # older versions wrote the second one
MAX_REASON = 300


def count_restarts(cycle: Cycle | None) -> int:
    return sum(step.note.startswith(RESTART_NOTES) for step in cycle.steps) if cycle else 0


@dataclass(frozen=True)
class RestartWriter:
    """Moves the story's branch from its old tip to the restart commit."""

    inner: BranchWriter
    aside: str

    def move(self, branch: str, new: str, old: str | None) -> str:
        del old
        return self.inner.move(branch, new, self.aside)

    def release(self, branch: str) -> str | None:
        return self.inner.release(branch)


def restart_story(own: Session, story: str, trunk: str, tip: str, reason: str) -> Position:
    """Move the story's branch to the PRD's head, and record its history so far in one note."""
    own.git.set_aside(f"{own.prd.id}/{story}/{tip[:12]}", tip)
    own.services.journal.move_entries(tip, trunk)  # the note includes what was spent since the last commit
    position, old_cycle = load_story_position(own, trunk, story), own.store.load(tip).cycle(story) or Cycle(story=story)
    pending = make_restart_commit(own, position, f"{RESTART_NOTE}: {clip(clean_line(reason), MAX_REASON)}")
    change = make_restart_change(own, position, old_cycle, pending, read_run_files(own, trunk, tip))
    restart_session = replace(own, services=replace(own.services, writer=RestartWriter(own.services.writer, tip)))
    return load_story_position(own, land_commit(restart_session, pending, change), story)


def rebase_restarted_story(own: Session, story: str, tip: str) -> None:
    """Move a restarted story without new steps to the current head of the PRD's branch."""
    git, trunk = own.git, own.git.rev(own.target.prd_branch)
    fork_point = git.merge_base(trunk, tip)
    if fork_point is None or fork_point == trunk:
        return
    before, now = (own.store.load(commit).cycle(story) for commit in (fork_point, tip))
    new_steps = now.steps[len(before.steps) if before else 0 :] if now else ()
    planned_story = next((each for each in own.store.load(trunk).backlog.stories if each.id == story), None)
    if (
        new_steps
        and all(step.note.startswith(RESTART_NOTES) for step in new_steps)
        and planned_story
        and planned_story.status not in SETTLED
    ):
        restart_story(own, story, trunk, tip, new_steps[-1].note.partition(": ")[2])


def load_story_position(own: Session, head: str, story: str) -> Position:
    state = own.store.load(head)
    return load_position(own, head, state, next(each for each in state.backlog.stories if each.id == story))


def make_restart_commit(own: Session, position: Position, text: str) -> PendingCommit:
    story, n, tree = position.story.id, len(position.cycle.steps) + 1, position.code_tree
    evidence = Evidence(
        phase=Phase.NOTE, prd=own.prd.id, story=story, step=n, base_tree=tree, head_tree=tree, note=text
    )
    return PendingCommit(
        base=position.head,
        code_tree=tree,
        story=story,
        n=n,
        phase=Phase.NOTE,
        subject=format_subject("note", story, text),
        body=f"{text}\n\nNo code has changed. The previous work is kept under a ref, and is not part of this branch.",
        evidence=make_ungated_evidence(evidence, Phase.NOTE),
        at=own.clock.now(),
        note=text,
    )


def make_restart_change(
    own: Session, position: Position, old_cycle: Cycle, pending: PendingCommit, files: Mapping[str, bytes]
) -> StateChange:
    paths, prd, current = own.store.paths, position.state.prd, position.cycle
    assert prd is not None, "a story belongs to a plan"
    backlog = phase_transitions.set_story_status(position.state.backlog, position.story.id, "in_progress")
    cycle = make_restart_cycle(own, position, old_cycle)
    cycle = cycle.model_copy(
        update={"steps": (*current.steps, make_restart_step(own, position, old_cycle, cycle, pending))}
    )
    change = StateChange()
    for path, data in files.items():
        change = change.with_bytes(path, data)
    return (
        change.with_doc(paths.cycle(position.story.id), cycle)
        .with_doc(paths.backlog, backlog)
        .with_bytes(paths.progress, render_progress(prd, backlog, position.state.status).encode())
    )


def make_restart_cycle(own: Session, position: Position, old_cycle: Cycle) -> Cycle:
    """Return the cycle from the PRD's branch, with all refusals since and the design as a draft."""
    current = position.cycle
    refused = (*old_cycle.refused[len(current.refused) :], *list_refused_attempts(own, position))
    writes = (*old_cycle.refused_writes[len(current.refused_writes) :], *collect_refused_writes(own, position))
    design = {"design": old_cycle.design} if old_cycle.design and current.state is CycleState.DESIGN else {}
    return current.model_copy(
        update={
            "refused": (*current.refused, *refused),
            "refused_writes": (*current.refused_writes, *writes),
            "blocked": "",
            **design,
        }
    )


def make_restart_step(own: Session, position: Position, old_cycle: Cycle, cycle: Cycle, pending: PendingCommit) -> Step:
    """Return the note's step. It includes the totals of all earlier steps, so that the story's limits still apply."""
    steps = old_cycle.steps[len(position.cycle.steps) :]
    return Step(
        n=pending.n,
        phase=Phase.NOTE,
        at=pending.at,
        code_tree=pending.code_tree,
        evidence=pending.evidence.digest,
        evidence_blob=own.git.write_blob(pending.evidence.stored),
        seconds=round(sum(each.seconds for each in steps), 3),
        spend=sum((each.spend for each in steps), sum_step_spend(own, position)),
        note=pending.note,
        draft=cycle.design != position.cycle.design,
    )
