"""Descriptions of open circuit breakers, shared by all outputs."""

from __future__ import annotations

from prd2pr.domain.breakers.circuits import (
    FLAP_WINDOW,
    compute_probe_time,
    find_blocking_circuit,
    get_circuit_state,
    list_open_circuits,
)
from prd2pr.domain.breakers.records import Circuit, Circuits
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.wording import count, format_time


def describe_circuit(circuit: Circuit, at: str) -> str:
    """Describe the state of a circuit breaker, the reason for it and the time of the next attempt.

    For example "`green` is open after 3 failures since 2026-11-17 12:04 UTC: …; it is tried again after 12:09 UTC".
    """
    return f"{describe_circuit_state(circuit, at)}: {circuit.why}; {describe_circuit_recovery(circuit, at)}"


def describe_circuit_state(circuit: Circuit, at: str) -> str:
    state = get_circuit_state(circuit, at)
    if circuit.level == "system":
        what = "all work is stopped" if state == "open" else "all work was stopped"
        return f"{what} since {format_time(circuit.opened_at)}"
    failures = count(circuit.failures, "failure")
    return f"`{circuit.name}` is {state} after {failures} since {format_time(circuit.since)}"


def describe_circuit_recovery(circuit: Circuit, at: str) -> str:
    if circuit.by_hand:
        hours = int(FLAP_WINDOW.total_seconds() // 3600)
        return f"it opened {len(circuit.openings)} times within {hours} hours, so it stays open until it is reset"
    if get_circuit_state(circuit, at) == "half-open":
        return "the next step tries it again"
    return f"it is tried again after {format_time(compute_probe_time(circuit))}, or once it is reset"


def describe_open_circuits(circuits: Circuits, at: str) -> tuple[str, ...]:
    """Return one sentence for each circuit breaker that is not closed."""
    return tuple(describe_circuit(circuit, at) for circuit in list_open_circuits(circuits))


def find_circuit_stop(circuits: Circuits, stage: str, worker: str, at: str, command: str) -> NoAction | None:
    """Return why a stage must wait, or None if no circuit breaker blocks it.

    `command` is the command that resets it.
    """
    circuit = find_blocking_circuit(circuits, stage, worker, at)
    return NoAction("waiting", describe_circuit(circuit, at), command) if circuit else None
