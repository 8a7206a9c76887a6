"""circuits.json: the circuit breakers of one PRD that have counted failures. One that is not listed is closed."""

from __future__ import annotations

from typing import Literal

from prd2pr.domain.records import Document, Phase, Record

# `stage`: a phase of the work, or the push of its commit. `worker`: a model. `system`: all of them together.
CircuitLevel = Literal["stage", "worker", "system"]
CircuitState = Literal["closed", "open", "half-open"]
SYSTEM = "system"
PUSH = "push"
STAGES: tuple[str, ...] = (*(phase.value for phase in Phase if phase is not Phase.NOTE), PUSH)


class Circuit(Record):
    name: str  # green, push, anthropic:claude-sonnet-5-5, system
    level: CircuitLevel
    failures: int = 0  # without a success in between
    since: str = ""  # time of the first of these failures
    last: str = ""
    why: str = ""  # the last failure, on one line
    opened_at: str = ""  # empty: closed
    openings: tuple[str, ...] = ()  # within the flapping window, including the last one
    by_hand: bool = False  # it flaps: only a person can reset it


class Circuits(Document):
    circuits: tuple[Circuit, ...] = ()

    def find_circuit(self, name: str) -> Circuit | None:
        return next((circuit for circuit in self.circuits if circuit.name == name), None)


class OperationFailure(Record):
    """A failure of the infrastructure: a model cannot be reached, tests cannot be run, or a push fails."""

    stage: str
    at: str
    why: str
    worker: str = ""  # the model that failed; empty: no model
    workers: int = 1  # number of models that work on this PRD


class OperationSuccess(Record):
    stage: str
    at: str
    worker: str = ""


CircuitEvent = OperationFailure | OperationSuccess
