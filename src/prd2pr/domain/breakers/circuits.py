"""The rules by which circuit breakers open, allow a probe and close again.

A circuit opens after three failures in a row and stays open for 300 seconds. Then it is half-open and allows one
attempt. If the attempt fails, the circuit opens again; if it succeeds, the circuit closes. The system circuit opens
when the circuits of half of the workers have opened within 300 seconds. A circuit that opens four times within six
hours is flapping: it stays open until a person resets it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from prd2pr.domain.breakers.records import (
    PUSH,
    SYSTEM,
    Circuit,
    CircuitEvent,
    CircuitLevel,
    Circuits,
    CircuitState,
    OperationFailure,
    OperationSuccess,
)
from prd2pr.domain.wording import clean_line, clip

FAILURES_TO_OPEN = 3
OPEN_FOR = timedelta(seconds=300)
SYSTEM_WINDOW = timedelta(seconds=300)
OPENINGS_TO_FLAP = 4
FLAP_WINDOW = timedelta(hours=6)
FORGOTTEN_AFTER = timedelta(hours=24)  # older failures do not count
MAX_WHY = 300


def get_circuit_state(circuit: Circuit, at: str) -> CircuitState:
    if not circuit.opened_at:
        return "closed"
    if circuit.by_hand or _parse_time(at) < _parse_time(circuit.opened_at) + OPEN_FOR:
        return "open"
    return "half-open"


def compute_probe_time(circuit: Circuit) -> str:
    """Return the time at which an open circuit allows a probe."""
    return (_parse_time(circuit.opened_at) + OPEN_FOR).strftime("%Y-%m-%dT%H:%M:%SZ")


def list_open_circuits(circuits: Circuits) -> tuple[Circuit, ...]:
    """Return the circuits that are not closed, ordered from the widest level to the narrowest."""
    order: tuple[CircuitLevel, ...] = ("system", "worker", "stage")
    return tuple(sorted((each for each in circuits.circuits if each.opened_at), key=lambda it: order.index(it.level)))


def find_blocking_circuit(circuits: Circuits, stage: str, worker: str, at: str) -> Circuit | None:
    """Return the open circuit that blocks a step of this stage, if any. An open push circuit blocks every stage."""
    relevant = {SYSTEM, PUSH, stage, worker}
    found = (
        each for each in list_open_circuits(circuits) if each.name in relevant and get_circuit_state(each, at) == "open"
    )
    return next(found, None)


# --- events -----------------------------------------------------------------------------------------------------------


def apply_circuit_events(circuits: Circuits, events: Iterable[CircuitEvent]) -> Circuits:
    for event in events:
        circuits = (
            _record_failure(circuits, event)
            if isinstance(event, OperationFailure)
            else _record_success(circuits, event)
        )
    return circuits


def close_circuits(circuits: Circuits, names: Iterable[str]) -> Circuits:
    """Close circuits and forget their failures, as requested by a person."""
    gone = set(names)
    return circuits.model_copy(update={"circuits": tuple(each for each in circuits.circuits if each.name not in gone)})


def find_unauthorized_resets(before: Circuits, now: Circuits) -> tuple[str, ...]:
    """Return the circuits that were closed although only a person may reset them."""
    flapping = (each for each in before.circuits if each.by_hand)
    return tuple(each.name for each in flapping if not _is_still_open_by_hand(now.find_circuit(each.name)))


def _is_still_open_by_hand(circuit: Circuit | None) -> bool:
    return circuit is not None and circuit.by_hand and bool(circuit.opened_at)


def _record_failure(circuits: Circuits, failure: OperationFailure) -> Circuits:
    circuits = _count_failure(circuits, failure.stage, "stage", failure)
    if failure.worker:
        circuits = _count_failure(circuits, failure.worker, "worker", failure)
    return _update_system_circuit(circuits, failure)


def _count_failure(circuits: Circuits, name: str, level: CircuitLevel, failure: OperationFailure) -> Circuits:
    circuit = circuits.find_circuit(name) or Circuit(name=name, level=level)
    stale = (
        circuit.last and not circuit.opened_at and _parse_time(failure.at) - _parse_time(circuit.last) > FORGOTTEN_AFTER
    )
    failures = 1 if stale else circuit.failures + 1
    circuit = circuit.model_copy(
        update={
            "failures": failures,
            "since": circuit.since if circuit.since and failures > 1 else failure.at,
            "last": failure.at,
            "why": clip(clean_line(failure.why), MAX_WHY),
        }
    )
    probed = get_circuit_state(circuit, failure.at) == "half-open"
    opens = probed or (not circuit.opened_at and failures >= FAILURES_TO_OPEN)
    return _put_circuit(circuits, _open_circuit(circuit, failure.at) if opens else circuit)


def _update_system_circuit(circuits: Circuits, failure: OperationFailure) -> Circuits:
    """Open the system circuit if half of the workers' circuits opened within the window or its own probe failed."""
    opened = [
        each
        for each in circuits.circuits
        if each.level == "worker"
        and each.opened_at
        and _parse_time(failure.at) - _parse_time(each.opened_at) <= SYSTEM_WINDOW
    ]
    system = circuits.find_circuit(SYSTEM) or Circuit(name=SYSTEM, level="system")
    if get_circuit_state(system, failure.at) == "open" or 2 * len(opened) < failure.workers or not opened:
        return circuits
    names = ", ".join(each.name for each in opened)
    why = f"the breakers of {len(opened)} of {failure.workers} models are open: {names}; {failure.why}"
    facts = {"failures": len(opened), "last": failure.at, "why": clip(clean_line(why), MAX_WHY)}
    facts["since"] = min(each.since for each in opened)
    return _put_circuit(circuits, _open_circuit(system.model_copy(update=facts), failure.at))


def _record_success(circuits: Circuits, success: OperationSuccess) -> Circuits:
    """Close the circuits that a success concerns, except flapping ones, and keep their recent openings.

    Every success is a commit and therefore includes a push. A worker's success also closes the system circuit.
    """
    names = {success.stage, PUSH} | ({success.worker, SYSTEM} if success.worker else set())
    kept = (_close_circuit(each, success.at) if each.name in names else each for each in circuits.circuits)
    return circuits.model_copy(update={"circuits": tuple(each for each in kept if each is not None)})


def _close_circuit(circuit: Circuit, at: str) -> Circuit | None:
    if circuit.by_hand:
        return circuit
    openings = _list_recent_openings(circuit.openings, at)
    return Circuit(name=circuit.name, level=circuit.level, openings=openings) if openings else None


def _open_circuit(circuit: Circuit, at: str) -> Circuit:
    openings = (*_list_recent_openings(circuit.openings, at), at)
    return circuit.model_copy(
        update={"opened_at": at, "openings": openings, "by_hand": circuit.by_hand or len(openings) >= OPENINGS_TO_FLAP}
    )


def _list_recent_openings(openings: tuple[str, ...], at: str) -> tuple[str, ...]:
    return tuple(each for each in openings if _parse_time(at) - _parse_time(each) <= FLAP_WINDOW)


def _put_circuit(circuits: Circuits, circuit: Circuit) -> Circuits:
    others = (each for each in circuits.circuits if each.name != circuit.name)
    ordered = sorted((*others, circuit), key=lambda each: each.name)
    return circuits.model_copy(update={"circuits": tuple(ordered)})


def _parse_time(at: str) -> datetime:
    return datetime.fromisoformat(at)
