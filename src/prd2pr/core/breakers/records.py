"""circuits.json: the breakers of one PRD that have seen trouble. One that is not in it is closed."""

from __future__ import annotations

from typing import Literal

from prd2pr.core.records import Document, Phase, Record

# `stage`: a phase of the work, or the push of its commit. `worker`: a model. `system`: all of them together.
Level = Literal["stage", "worker", "system"]
SYSTEM = "system"
PUSH = "push"
STAGES: tuple[str, ...] = (*(phase.value for phase in Phase if phase is not Phase.NOTE), PUSH)


class Circuit(Record):
    name: str  # green, push, anthropic:claude-sonnet-5-5, system
    level: Level
    failures: int = 0  # without a success in between
    since: str = ""  # the first of these
    last: str = ""
    why: str = ""  # the last one, in a line
    opened_at: str = ""  # empty: closed
    openings: tuple[str, ...] = ()  # in the time in which flapping is looked for, the last one included
    by_hand: bool = False  # it flaps: only a person closes it


class Circuits(Document):
    circuits: tuple[Circuit, ...] = ()

    def named(self, name: str) -> Circuit | None:
        return next((circuit for circuit in self.circuits if circuit.name == name), None)


class Trouble(Record):
    """A failure that is nobody's work: a model that cannot be reached, tests that cannot be run, a push that fails."""

    stage: str
    at: str
    why: str
    worker: str = ""  # whose trouble it is; empty: no model's
    workers: int = 1  # how many models do the work of this PRD


class Success(Record):
    stage: str
    at: str
    worker: str = ""


Event = Trouble | Success
