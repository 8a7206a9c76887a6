"""What is told of a circuit that is not closed, the same everywhere."""

from __future__ import annotations

from prd2pr.core.breakers.circuits import FLAP_WINDOW, holding, not_closed, state_of, tried_again_at
from prd2pr.core.breakers.records import Circuit, Circuits
from prd2pr.core.decide import Rest
from prd2pr.core.wording import count, moment


def why_held(circuit: Circuit, at: str) -> str:
    """green is open after 3 failures since 2026-11-17 12:04 UTC, the last: …; it is tried again after 12:09 UTC"""
    return f"{standing(circuit, at)}: {circuit.why}; {what_then(circuit, at)}"


def standing(circuit: Circuit, at: str) -> str:
    state = state_of(circuit, at)
    if circuit.level == "system":
        what = "everything is stopped" if state == "open" else "all work was stopped"
        return f"{what} since {moment(circuit.opened_at)}"
    failures = count(circuit.failures, "failure")
    return f"`{circuit.name}` is {state} after {failures} since {moment(circuit.since)}"


def what_then(circuit: Circuit, at: str) -> str:
    if circuit.by_hand:
        hours = int(FLAP_WINDOW.total_seconds() // 3600)
        return f"it opened {len(circuit.openings)} times within {hours} hours, so it stays open until it is reset"
    if state_of(circuit, at) == "half-open":
        return "the next step tries it again"
    return f"it is tried again after {moment(tried_again_at(circuit))}, or once it is reset"


def told(circuits: Circuits, at: str) -> tuple[str, ...]:
    """One sentence for each that is not closed, for whoever asks how things stand."""
    return tuple(why_held(circuit, at) for circuit in not_closed(circuits))


def held(circuits: Circuits, stage: str, worker: str, at: str, command: str) -> Rest | None:
    """Why nothing is tried now; `command` resets what holds it."""
    circuit = holding(circuits, stage, worker, at)
    return Rest("waiting", why_held(circuit, at), command) if circuit else None
