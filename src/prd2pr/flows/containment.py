"""Trouble that is nobody's work: noted at once, asked about before the next step, and taken up by the next commit.

What failed goes to the journal, since there is no commit to put it in; whichever commit comes next writes
`circuits.json`. A commit of a phase is itself the sign that its stage works.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prd2pr.agents.roles import ROLES
from prd2pr.core.breakers import words
from prd2pr.core.breakers.circuits import after
from prd2pr.core.breakers.records import PUSH, Circuits, Event, Success, Trouble
from prd2pr.core.crew import worker_name
from prd2pr.core.decide import Rest
from prd2pr.core.records import Phase
from prd2pr.errors import (
    CannotJudge,
    HubProblem,
    ModelProblem,
    PlanInvalid,
    Prd2prError,
    SpendLimit,
    TranscriptEnded,
)
from prd2pr.flows.ledger import refused_in, troubles
from prd2pr.flows.session import Session
from prd2pr.repo.journal import Entry
from prd2pr.repo.store import BranchState, StateChange

# A limit that somebody set, and a transcript without a further answer: waiting would mend neither.
NO_TROUBLE = (SpendLimit, TranscriptEnded)
NOBODY_ASKED = "human"  # a person who breaks off is no machine that fails
FUSED = "fused"


def circuits_now(state: BranchState, entries: tuple[Entry, ...]) -> Circuits:
    """With what happened since the last commit."""
    return after(state.circuits, troubles(entries))


def held_back(session: Session, state: BranchState, phase: Phase, command: str) -> Rest | None:
    """Why no step of this phase is tried now; None: nothing stands in its way."""
    if session.shared:
        session.shared.refresh()
        known = session.shared.circuits
    else:
        known = circuits_now(state, session.journal.since(state.commit))
    return words.held(known, phase.value, worker_for(session, phase), session.clock.now(), command)


def not_closed(session: Session, state: BranchState) -> tuple[str, ...]:
    """In sentences, for people."""
    return words.told(circuits_now(state, session.journal.since(state.commit)), session.clock.now())


# --- who does the work ------------------------------------------------------------------------------------------------


def worker_for(session: Session, phase: Phase) -> str:
    """Whom the phase asks first; empty where it asks nobody."""
    fused = session.config.strategy == FUSED
    for role in ROLES.values():
        if role.phase is phase and role.fused is (fused and phase is Phase.RED):
            return worker_name(session.crew.model(role.name))
    return ""


def workers_of(session: Session) -> frozenset[str]:
    models = (session.crew.model(role, strong=strong) for role in ROLES for strong in (False, True))
    return frozenset(map(worker_name, models))


# --- what happens -----------------------------------------------------------------------------------------------------


@contextmanager
def watched(session: Session, phase: Phase, story: str = "", *, head: str = "") -> Iterator[None]:
    """A step: if trouble ends it, that is kept before anything else happens. `head`: where it begins, if that is not
    the branch's own."""
    session.log.worker = ""
    try:
        yield
    except Prd2prError as problem:
        found = trouble_of(session, phase, problem)
        if found is not None:
            keep(session, found, story, head)
        raise


def trouble_of(session: Session, phase: Phase, problem: Prd2prError) -> Trouble | None:
    at, workers = session.clock.now(), len(workers_of(session))
    if isinstance(problem, NO_TROUBLE):
        return None
    if isinstance(problem, ModelProblem):
        worker = session.log.worker
        named = "" if worker == NOBODY_ASKED else worker
        return Trouble(stage=phase.value, at=at, why=problem.what, worker=named, workers=workers) if named else None
    if isinstance(problem, CannotJudge | PlanInvalid):
        return Trouble(stage=phase.value, at=at, why=problem.what, workers=workers)
    if isinstance(problem, HubProblem):
        return Trouble(stage=PUSH, at=at, why=problem.what, workers=workers)
    return None


def note_stuck(session: Session, phase: Phase, story: str, head: str, reason: str) -> None:
    """A story that ran out of attempts counts for its stage. One that a role found to contradict itself does not."""
    if refused_in(session.journal.since(head), story):
        workers = len(workers_of(session))
        keep(session, Trouble(stage=phase.value, at=session.clock.now(), why=reason, workers=workers), story)


def keep(session: Session, trouble: Trouble, story: str, head: str = "") -> None:
    head = head or session.git.branch_head(session.branch) or session.base_commit
    session.journal.append("trouble", head=head, story=story, event=trouble.model_dump(), run=session.log.id)
    if session.shared:
        session.shared.happened(trouble)
    session.log.add(trouble.at, "trouble", story=story or session.prd.id, text=f"{trouble.stage}: {trouble.why}")


# --- the commit that takes it up --------------------------------------------------------------------------------------


def with_circuits(session: Session, base: str, phase: Phase, at: str, change: StateChange) -> StateChange:
    """A reset is written as it was decided; any other commit adds what happened since the last one."""
    path = session.store.paths.circuits
    if path in change.updates:
        return change
    before = session.store.load(base).circuits
    happened: list[Event] = [*troubles(session.journal.since(base))]
    if phase is not Phase.NOTE:
        happened += [Success(stage=stage, at=at, worker=session.log.worker) for stage in worked(phase)]
    now = after(before, happened)
    return change if now == before else change.with_doc(path, now)


def worked(phase: Phase) -> tuple[str, ...]:
    """A refactoring that found nothing to do makes no commit: the one that integrates tells of both."""
    return (Phase.REFACTOR.value, phase.value) if phase is Phase.INTEGRATED else (phase.value,)
