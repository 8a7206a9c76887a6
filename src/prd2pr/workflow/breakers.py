"""Circuit breakers: record failures of models, tools and GitHub, and check them before each step.

A failure has no commit of its own: it is written to the journal, and the next commit adds it to `circuits.json`. A
commit of a phase counts as a success of its stage.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prd2pr.agents.roles import ROLES
from prd2pr.domain import breaker_text
from prd2pr.domain.breakers.circuits import apply_circuit_events
from prd2pr.domain.breakers.records import PUSH, CircuitEvent, Circuits, OperationFailure, OperationSuccess
from prd2pr.domain.costs.model_selection import get_public_model_name
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.records import Phase
from prd2pr.errors import (
    CannotJudge,
    HubProblem,
    ModelProblem,
    PlanInvalid,
    Prd2prError,
    SpendLimit,
    TranscriptEnded,
)
from prd2pr.state.journal import JournalEntry
from prd2pr.state.store import BranchState, StateChange
from prd2pr.workflow.session import Session
from prd2pr.workflow.spending import has_refusal, list_failures

# Waiting does not help if a spending limit is reached or a recorded transcript has ended.
NOT_FAILURES = (SpendLimit, TranscriptEnded)
HUMAN = "human"  # a person who stops working is not a failure


def read_current_circuits(state: BranchState, entries: tuple[JournalEntry, ...]) -> Circuits:
    """Return the circuit breakers, updated with the failures since the last commit."""
    return apply_circuit_events(state.circuits, list_failures(entries))


def find_tripped_breaker(session: Session, state: BranchState, phase: Phase, command: str) -> NoAction | None:
    """Return why no step of this phase may run now, or None if no breaker is tripped."""
    if session.shared:
        session.shared.refresh()
        known = session.shared.circuits
    else:
        known = read_current_circuits(state, session.services.journal.entries_since(state.commit))
    return breaker_text.find_circuit_stop(
        known, phase.value, find_first_worker(session, phase), session.clock.now(), command
    )


def list_tripped_breakers(session: Session, state: BranchState) -> tuple[str, ...]:
    """Return a sentence for each breaker that is not closed."""
    return breaker_text.describe_open_circuits(
        read_current_circuits(state, session.services.journal.entries_since(state.commit)), session.clock.now()
    )


# --- models -----------------------------------------------------------------------------------------------------------


def find_first_worker(session: Session, phase: Phase) -> str:
    """Return the name of the model that the phase calls first, or an empty string if it calls none."""
    config, is_red = session.config, phase is Phase.RED
    for role in ROLES.values():
        if role.phase is phase and (role.fused, role.converses) == (
            is_red and config.fused,
            is_red and config.converses,
        ):
            return get_public_model_name(session.services.models.select_model(role.name))
    return ""


def list_all_workers(session: Session) -> frozenset[str]:
    models = (session.services.models.select_model(role, strong=strong) for role in ROLES for strong in (False, True))
    return frozenset(map(get_public_model_name, models))


# --- recording --------------------------------------------------------------------------------------------------------


@contextmanager
def record_failures(session: Session, phase: Phase, story: str = "", *, head: str = "") -> Iterator[None]:
    """Record an error raised within the block as a failure of the step.

    `head` is the commit on which the step is based, if that is not the branch's head.
    """
    session.log.worker = ""
    try:
        yield
    except Prd2prError as problem:
        failure = classify_breaker_failure(session, phase, problem)
        if failure is not None:
            record_failure(session, failure, story, head)
        raise


def classify_breaker_failure(session: Session, phase: Phase, error: Prd2prError) -> OperationFailure | None:
    at, workers = session.clock.now(), len(list_all_workers(session))
    if isinstance(error, NOT_FAILURES):
        return None
    if isinstance(error, ModelProblem):
        worker = session.log.worker
        named = "" if worker == HUMAN else worker
        return (
            OperationFailure(stage=phase.value, at=at, why=error.what, worker=named, workers=workers) if named else None
        )
    if isinstance(error, CannotJudge | PlanInvalid):
        return OperationFailure(stage=phase.value, at=at, why=error.what, workers=workers)
    if isinstance(error, HubProblem):
        return OperationFailure(stage=PUSH, at=at, why=error.what, workers=workers)
    return None


def record_stuck_story(session: Session, phase: Phase, story: str, head: str, reason: str) -> None:
    """Record a failure of the stage for a story that has no attempts left, unless a role reported a contradiction."""
    if has_refusal(session.services.journal.entries_since(head), story):
        workers = len(list_all_workers(session))
        record_failure(
            session, OperationFailure(stage=phase.value, at=session.clock.now(), why=reason, workers=workers), story
        )


def record_failure(session: Session, trouble: OperationFailure, story: str, head: str = "") -> None:
    head = head or session.git.branch_head(session.target.branch) or session.target.base_commit
    session.services.journal.append("trouble", head=head, story=story, event=trouble.model_dump(), run=session.log.id)
    if session.shared:
        session.shared.record_event(trouble)
    session.log.add(trouble.at, "trouble", story=story or session.prd.id, text=f"{trouble.stage}: {trouble.why}")


# --- in the next commit -----------------------------------------------------------------------------------------------


def update_circuits(session: Session, base: str, phase: Phase, at: str, change: StateChange) -> StateChange:
    """Add the failures and successes since the last commit to the change, unless the change itself resets breakers."""
    path = session.store.paths.circuits
    if path in change.updates:
        return change
    before = session.store.load(base).circuits
    events: list[CircuitEvent] = [*list_failures(session.services.journal.entries_since(base))]
    if phase is not Phase.NOTE:
        events += [
            OperationSuccess(stage=stage, at=at, worker=session.log.worker) for stage in list_successful_stages(phase)
        ]
    now = apply_circuit_events(before, events)
    return change if now == before else change.with_doc(path, now)


def list_successful_stages(phase: Phase) -> tuple[str, ...]:
    """Return the stages that are known to work because this phase was committed.

    INTEGRATED also covers REFACTOR, since a refactoring without changes has no commit.
    """
    return (Phase.REFACTOR.value, phase.value) if phase is Phase.INTEGRATED else (phase.value,)
