"""`circuits.json`: the circuit breakers of one PRD that have counted failures.

Breakers that are not listed are closed.
"""

from __future__ import annotations

from typing import Literal

from prd2pr.domain.records import Document, Phase, Record

# A `stage` is a phase or the push of its commit, a `worker` is a model, and `system` is everything together.
CircuitLevel = Literal["stage", "worker", "system"]
CircuitState = Literal["closed", "open", "half-open"]
SYSTEM = "system"
PUSH = "push"
STAGES: tuple[str, ...] = (*(phase.value for phase in Phase if phase is not Phase.NOTE), PUSH)


class Circuit(Record):
    name: str  # e.g. green, push, anthropic:claude-sonnet-5-5 or system
    level: CircuitLevel
    failures: int = 0  # consecutive failures
    since: str = ""  # time of the first of these failures
    last: str = ""
    why: str = ""  # the last failure, on one line
    opened_at: str = ""  # empty if the circuit is closed
    openings: tuple[str, ...] = ()  # times of the openings within the flapping window
    by_hand: bool = False  # it is flapping, so only a person can reset it


class Circuits(Document):
    circuits: tuple[Circuit, ...] = ()

    def find_circuit(self, name: str) -> Circuit | None:
        return next((circuit for circuit in self.circuits if circuit.name == name), None)


class OperationFailure(Record):
    """An infrastructure failure: an unreachable model, tests that cannot run, or a failed push."""

    stage: str
    at: str
    why: str
    worker: str = ""  # the model that failed; empty if none was involved
    workers: int = 1  # number of models that work on this PRD


class OperationSuccess(Record):
    stage: str
    at: str
    worker: str = ""


CircuitEvent = OperationFailure | OperationSuccess
