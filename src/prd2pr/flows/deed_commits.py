"""Notes that are about work itself: refused work of people, drafts, steps taken back. Each is one commit."""

from __future__ import annotations

from dataclasses import dataclass, replace

from prd2pr.core import advance
from prd2pr.core.commit_message import format_subject
from prd2pr.core.decision import BOT
from prd2pr.core.deeds import fallen, with_step
from prd2pr.core.evidence import Evidence
from prd2pr.core.progress_text import progress_text
from prd2pr.core.records import Cycle, Phase, ProjectState, RefusedAttempt, Step
from prd2pr.flows.attempts import (
    Judged,
    Position,
    refused_records,
    refused_writes,
    step_seconds,
    step_spend,
    summary_of,
    tests_in,
)
from prd2pr.flows.commits import Landing, land, proof_bytes
from prd2pr.flows.session import Session
from prd2pr.repo.store import StateChange


@dataclass(frozen=True)
class Deed:
    """What a note says and makes of the cycle's record and of the code."""

    text: str
    cycle: Cycle
    code_tree: str
    body: str = ""
    draft: bool = False
    undoes: int = 0
    by: str = BOT  # who has ordered it


def commit_refused_work(session: Session, position: Position, judged: Judged, text: str, code_tree: str) -> Position:
    """Kept like a refused attempt, but counted as none: its number is 0.

    `code_tree` is another than the branch's where code was withheld to prove RED: it comes back as a draft.
    """
    refused = RefusedAttempt(
        phase=judged.verdict.phase,
        attempt=0,
        codes=tuple(sorted({finding.code for finding in judged.verdict.errors})),
        summary=summary_of(judged.verdict.errors),
        tests=tests_in(judged.verdict.errors),
    )
    cycle = position.cycle.model_copy(
        update={
            "refused": (*position.cycle.refused, refused),
            "test_files": fallen(position.cycle.test_files, judged.evidence.head_run),
        }
    )
    withheld = code_tree != position.code_tree
    what = "The code that was withheld to prove RED is back." if withheld else "No code has changed."
    deed = Deed(text, cycle, code_tree, body=f"{refused.summary}\n\n{what}", draft=withheld)
    head, cycle = commit_deed(session, position, deed)
    return replace(position, head=head, code_tree=code_tree, cycle=cycle, state=session.store.load(head))


def commit_deed(session: Session, position: Position, deed: Deed) -> tuple[str, Cycle]:
    at, story, n = session.clock.now(), position.story.id, len(position.cycle.steps) + 1
    evidence = Evidence(
        phase=Phase.NOTE,
        prd=session.prd.id,
        story=story,
        step=n,
        base_tree=position.code_tree,
        head_tree=deed.code_tree,
        note=deed.text,
    )
    landing = Landing(
        base=position.head,
        code_tree=deed.code_tree,
        story=story,
        n=n,
        phase=Phase.NOTE,
        subject=format_subject("note", story, deed.text),
        body=f"{deed.text}\n\n{deed.body}",
        evidence=proof_bytes(evidence, Phase.NOTE),
        at=at,
    )
    step = Step(
        n=n,
        phase=Phase.NOTE,
        at=at,
        code_tree=deed.code_tree,
        evidence=landing.digest,
        seconds=step_seconds(session, position),
        spend=step_spend(session, position),
        note=deed.text,
        draft=deed.draft,
        undoes=deed.undoes,
    )
    happened = {
        "refused": (*deed.cycle.refused, *refused_records(session, position)),
        "refused_writes": (*deed.cycle.refused_writes, *refused_writes(session, position)),
        "blocked": "",
    }
    cycle = with_step(deed.cycle.model_copy(update=happened), step)
    session.log.add(at, "note", story=story, text=deed.text)
    return land(session, landing, deed_change(session, position, cycle, deed.by, at)), cycle


def deed_change(session: Session, position: Position, cycle: Cycle, by: str, at: str) -> StateChange:
    """Whoever works on a story takes it up, also one that was blocked."""
    paths, story = session.store.paths, position.story
    change = StateChange().with_doc(paths.cycle(story.id), cycle)
    if story.status == "in_progress":
        return change
    status = position.state.status
    backlog = advance.with_story(position.state.backlog, story.id, "in_progress")
    if position.cycle.blocked and status.state is ProjectState.BLOCKED:
        status = advance.unblocked(status, by=by, at=at, why=f"work on {story.id} goes on")
        change = change.with_doc(paths.status, status)
    return change.with_doc(paths.backlog, backlog).with_bytes(
        paths.progress, progress_text(session.prd, backlog, status).encode()
    )
