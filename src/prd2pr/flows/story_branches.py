"""Stories beside each other: each is worked on at a branch of its own, and brought to the PRD's one at a time.

A story's branch begins at the PRD's head and is a PRD branch like any other: the same phases, gates and records. It
ends where the story waits to be integrated; `bringing.py` does that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from prd2pr.core.ahead import phase_ahead, stopped_by_people, story_ahead
from prd2pr.core.decide import Rest
from prd2pr.core.joining import decided_meanwhile
from prd2pr.core.records import NO_REFACTORING, Phase
from prd2pr.errors import BranchMoved
from prd2pr.flows.begun_again import move_to_new_base
from prd2pr.flows.bringing import Brought, integrate_story
from prd2pr.flows.containment import watched
from prd2pr.flows.drive import (
    RACES,
    head_of,
    phase_step,
    position_of,
    refuse_checked_out,
    refuse_lost_steps,
    take_journal_along,
)
from prd2pr.flows.joins import sides_of
from prd2pr.flows.outlook import outlook
from prd2pr.flows.session import Session
from prd2pr.flows.story_session import story_branch, story_branches, story_session
from prd2pr.flows.workbench import sweep
from prd2pr.repo.store import StateStore

__all__ = ["READY", "Brought", "LeftOver", "Worked", "finish_left_over", "integrate_story", "story_branch",
           "story_branches", "story_session", "work_on_story"]  # fmt: skip

READY = "it waits to be integrated"
ENOUGH = "that was as many steps as were asked for"


@dataclass(frozen=True)
class Worked:
    """How far a story got on its own branch. `rest` says why no further."""

    story: str
    head: str
    steps: int
    rest: Rest
    session: Session  # the story's own: `integrate_story` goes on with its journal and its run's record
    ready: bool = False  # it waits to be integrated
    note: str = ""  # that no refactoring came, where that is to be written down with the integration


def work_on_story(session: Session, story: str, max_steps: int | None = None) -> Worked:
    """One story on its own branch, until it waits to be integrated, is blocked or stopped. `session`: the PRD's.

    Goes on where a run that was killed has left it. Trouble is raised, as by `drive`.
    """
    own = session if session.trunk else story_session(session, story)
    with session.git.lock(f"story-{session.prd.id}-{story}"):
        refuse_checked_out(own)
        sweep(own)
        tip = session.git.branch_head(own.branch)
        if tip is None:
            own.writer.move(own.branch, session.git.rev(own.trunk), None)
        else:
            move_to_new_base(own, story, tip)
        own.log.landed = head_of(own)
        take_journal_along(own)
        return _until_rest(own, story, max_steps)


def _until_rest(own: Session, story: str, max_steps: int | None) -> Worked:
    steps = races = 0
    while max_steps is None or steps < max_steps:
        before = head_of(own)
        try:
            stepped = _story_step(own, story, before)
        except BranchMoved:
            races += 1
            refuse_lost_steps(own, own.log.landed)
            own.journal.follow(before, head_of(own))
            if races >= RACES:
                raise
            continue
        races = 0
        if isinstance(stepped, Rest):
            note = stepped.reason if stepped.reason.startswith(NO_REFACTORING) else ""
            ready = bool(note) or stepped.reason == READY
            return Worked(story, head_of(own), steps, stepped, own, ready, note)
        steps += 1
    return Worked(story, head_of(own), steps, Rest("nothing", ENOUGH), own)


def _story_step(own: Session, story: str, head: str) -> str | Rest:
    """One commit further on the story's branch, or why not."""
    state = own.store.load(head)
    stopped = stopped_meanwhile(own, story, head)
    if stopped is not None:
        return stopped
    view = outlook(own, state, story)
    found = story_ahead(view)
    if isinstance(found, Rest):
        return found
    if found.status == "blocked":
        cycle = state.cycle(story)
        return Rest("blocked", f"{story}: {cycle.blocked if cycle else 'a person decides'}")
    due = phase_ahead(view, found)
    if isinstance(due, Rest):
        return due
    if due.phase is Phase.INTEGRATED:
        return Rest("nothing", READY)
    with watched(own, due.phase, story):
        return phase_step(own, position_of(own, head, state, found), due.phase)


def stopped_meanwhile(own: Session, story: str, head: str) -> Rest | None:
    """What people have said on the PRD's branch since counts for every story that is worked on beside it."""
    trunk = own.git.rev(own.trunk)
    left = own.git.merge_base(trunk, head)
    if left is None or left == trunk:
        return None
    on_trunk = StateStore(own.git, own.prd.id, own.trunk).load(trunk)
    stopped = stopped_by_people(outlook(own, on_trunk, story))
    if stopped is not None:
        return stopped
    decided = decided_meanwhile(sides_of(own.git, own.prd.id, story, (left, trunk, head)))
    return Rest("stopped", decided) if decided else None


# --- what an earlier run has left -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LeftOver:
    """What became of what was left. Without a `rest` the PRD's own branch can be gone on with."""

    steps: int = 0
    rest: Rest | None = None


def finish_left_over(session: Session, max_steps: int | None = None) -> LeftOver:
    """Stories that a run with several workers has left on their own branches, gone on with before anything else.

    `session` has a ledger that all of them share: one budget holds for all."""
    steps = 0
    for story in story_branches(session):
        if session.only_story and story != session.only_story:
            continue
        left = _finish_one(session, story, None if max_steps is None else max_steps - steps)
        steps += left.steps
        if left.rest is not None:
            return LeftOver(steps, left.rest)
    done = bool(steps) and max_steps is not None and steps >= max_steps
    return LeftOver(steps, Rest("stopped", ENOUGH) if done else None)


def _finish_one(session: Session, story: str, max_steps: int | None) -> LeftOver:
    steps = 0
    while max_steps is None or steps < max_steps:
        own = replace(session, integrates=True)
        worked = work_on_story(own, story, None if max_steps is None else max_steps - steps)
        steps += worked.steps
        try:
            if not worked.ready and worked.rest.outcome not in ("blocked", "stopped", "done"):
                return LeftOver(steps, worked.rest)
            brought = integrate_story(session, story, worked.session, worked.note)
        finally:
            session.log.beside += worked.session.log.lines
            session.log.spent_beside += worked.session.log.spend
        steps += brought.outcome == "integrated"
        if brought.outcome == "waiting" and worked.rest.outcome != "blocked":
            return LeftOver(steps, Rest("waiting", brought.reason))
        if brought.outcome != "again":
            return LeftOver(steps)
    return LeftOver(steps, Rest("stopped", f"{story} is under way on its own branch"))
