"""Commit notes about refused commits by people, drafts and undone steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from prd2pr.domain.decision import BOT
from prd2pr.domain.evidence import Evidence
from prd2pr.domain.machines import phase_transitions
from prd2pr.domain.machines.story_transitions import append_cycle_step, demote_failing_files
from prd2pr.domain.records import Cycle, Phase, ProjectState, RefusedAttempt, Spend, Step
from prd2pr.state.commit_message import format_subject
from prd2pr.state.layout import LOGS
from prd2pr.state.store import StateChange
from prd2pr.views.progress import render_progress
from prd2pr.workflow.commits.phase_commit import PendingCommit, land_commit, make_ungated_evidence
from prd2pr.workflow.phases.attempts import (
    JudgedAttempt,
    Position,
    collect_refused_writes,
    list_named_tests,
    list_refused_attempts,
    measure_step_seconds,
    sum_step_spend,
    summarize_errors,
)
from prd2pr.workflow.session import Session


@dataclass(frozen=True)
class WorkNote:
    """A note with its text, and the cycle and code tree after it."""

    text: str
    cycle: Cycle
    code_tree: str
    body: str = ""
    draft: bool = False
    undoes: int = 0
    by: str = BOT  # the person who requested it
    spend: Spend = field(default_factory=Spend)  # of steps that are not on the branch
    seconds: float = 0  # of these steps
    files: Mapping[str, bytes] = field(default_factory=dict)  # their run records and logs


def commit_refused_work(
    session: Session, position: Position, judged: JudgedAttempt, text: str, code_tree: str
) -> Position:
    """Record people's refused commits as attempt 0, which does not count.

    `code_tree` differs from the branch's tree if code was withheld to prove RED; the note then restores that code as a
    draft.
    """
    refused = RefusedAttempt(
        phase=judged.verdict.phase,
        attempt=0,
        codes=tuple(sorted({finding.code for finding in judged.verdict.errors})),
        summary=summarize_errors(judged.verdict.errors),
        tests=list_named_tests(judged.verdict.errors),
    )
    cycle = position.cycle.model_copy(
        update={
            "refused": (*position.cycle.refused, refused),
            "test_files": demote_failing_files(position.cycle.test_files, judged.evidence.head_run),
        }
    )
    withheld = code_tree != position.code_tree
    code_text = "The code that was withheld to prove RED is back." if withheld else "No code has changed."
    note = WorkNote(text, cycle, code_tree, body=f"{refused.summary}\n\n{code_text}", draft=withheld)
    head, cycle = commit_work_note(session, position, note)
    return replace(position, head=head, code_tree=code_tree, cycle=cycle, state=session.store.load(head))


def commit_work_note(session: Session, position: Position, note: WorkNote) -> tuple[str, Cycle]:
    at, story, n = session.clock.now(), position.story.id, len(position.cycle.steps) + 1
    evidence = Evidence(
        phase=Phase.NOTE,
        prd=session.prd.id,
        story=story,
        step=n,
        base_tree=position.code_tree,
        head_tree=note.code_tree,
        note=note.text,
    )
    pending = PendingCommit(
        base=position.head,
        code_tree=note.code_tree,
        story=story,
        n=n,
        phase=Phase.NOTE,
        subject=format_subject("note", story, note.text),
        body=f"{note.text}\n\n{note.body}",
        evidence=make_ungated_evidence(evidence, Phase.NOTE),
        at=at,
    )
    step = Step(
        n=n,
        phase=Phase.NOTE,
        at=at,
        code_tree=note.code_tree,
        evidence=pending.evidence.digest,
        evidence_blob=session.git.write_blob(pending.evidence.stored),
        seconds=note.seconds or measure_step_seconds(session, position),
        spend=sum((note.spend,), sum_step_spend(session, position)),
        note=note.text,
        draft=note.draft,
        undoes=note.undoes,
    )
    updates = {
        "refused": (*note.cycle.refused, *list_refused_attempts(session, position)),
        "refused_writes": (*note.cycle.refused_writes, *collect_refused_writes(session, position)),
        "blocked": "",
    }
    cycle = append_cycle_step(note.cycle.model_copy(update=updates), step)
    session.log.add(at, "note", story=story, text=note.text)
    change = make_note_change(session, position, cycle, note.by, at)
    for path, data in note.files.items():
        change = change.with_bytes(path, data)
    return land_commit(session, pending, change), cycle


def make_note_change(session: Session, position: Position, cycle: Cycle, by: str, at: str) -> StateChange:
    """Return the changed records. A story with new work is in progress again, even if it was blocked before."""
    paths, story = session.store.paths, position.story
    change = StateChange().with_doc(paths.cycle(story.id), cycle)
    if story.status == "in_progress":
        return change
    status = position.state.status
    backlog = phase_transitions.set_story_status(position.state.backlog, story.id, "in_progress")
    if position.cycle.blocked and status.state is ProjectState.BLOCKED:
        status = phase_transitions.unblock_project(status, by=by, at=at, why=f"work on {story.id} continues")
        change = change.with_doc(paths.status, status)
    return change.with_doc(paths.backlog, backlog).with_bytes(
        paths.progress, render_progress(session.prd, backlog, status, at).encode()
    )


def read_run_files(session: Session, trunk: str, tip: str) -> dict[str, bytes]:
    """Return the records and logs of runs whose commits are not on the branch `trunk`."""
    git, runs = session.git, f"{session.store.paths.root}/runs/"
    fork_point = git.merge_base(trunk, tip)
    assert fork_point is not None, "the work starts at the branch"
    changes = [
        change
        for change in git.diff(fork_point, tip)
        if change.path.startswith((runs, f"{LOGS}/")) and change.new_blob and change.new_mode == "100644"
    ]
    contents = git.read_blobs(change.new_blob for change in changes)
    return {change.path: contents[change.new_blob] for change in changes}
