"""A person closes what trouble has opened."""

from __future__ import annotations

from prd2pr.core.breakers.circuits import not_closed, reset
from prd2pr.core.decision import Decision
from prd2pr.core.effects.records import Effect, Left, Objection, noted
from prd2pr.core.found import Found


def reset_circuits(found: Found, decision: Decision) -> Effect:
    """The one that is named, or all that are not closed."""
    opened = tuple(circuit.name for circuit in not_closed(found.circuits))
    if not opened:
        return Objection("no circuit is open")
    if decision.circuit and decision.circuit not in opened:
        return Objection(f"the circuit {decision.circuit} is not open", f"/{decision.command} {opened[0]}")
    names = (decision.circuit,) if decision.circuit else opened
    status = noted(found.status, decision, found.status.state, found.status.state)
    return Left(status, found.backlog, circuits=reset(found.circuits, names))
