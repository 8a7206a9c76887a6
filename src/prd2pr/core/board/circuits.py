"""Circuits as a tree: the system, its workers, the stages; also those that never saw trouble."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from prd2pr.core.board.view import CircuitView, PrdBoard
from prd2pr.core.breakers.circuits import state_of
from prd2pr.core.breakers.records import STAGES, SYSTEM, Circuit, Level
from prd2pr.core.breakers.words import why_held


@dataclass(frozen=True)
class Tree:
    """One PRD's. A stage is nobody's alone: every worker goes through the same ones."""

    repo: str
    prd: str
    system: CircuitView
    workers: tuple[CircuitView, ...]
    stages: tuple[CircuitView, ...]

    @property
    def not_closed(self) -> tuple[CircuitView, ...]:
        """The widest first."""
        return tuple(each for each in (self.system, *self.workers, *self.stages) if each.state != "closed")


def circuit_views(board: PrdBoard, at: str) -> tuple[CircuitView, ...]:
    """How they stand at this moment: system, workers, stages."""
    known = board.circuits.circuits
    models = (run.model for run in board.runs if run.model and not run.replayed)
    workers = dict.fromkeys((*(each.name for each in known if each.level == "worker"), *models))
    names: list[tuple[str, Level]] = [(SYSTEM, "system")]
    names += [(name, "worker") for name in sorted(workers)]
    names += [(name, "stage") for name in STAGES]
    return tuple(
        _view(board, board.circuits.named(name) or Circuit(name=name, level=level), at) for name, level in names
    )


def _view(board: PrdBoard, circuit: Circuit, at: str) -> CircuitView:
    state = state_of(circuit, at)
    return CircuitView(
        repo=board.view.repo,
        prd=board.view.id,
        name=circuit.name,
        level=circuit.level,
        state=state,
        failures=circuit.failures,
        since=circuit.since,
        last=circuit.last,
        why=circuit.why,
        opened_at=circuit.opened_at,
        by_hand=circuit.by_hand,
        told=why_held(circuit, at) if state != "closed" else "",
    )


def trees(circuits: Iterable[CircuitView]) -> tuple[Tree, ...]:
    """One for each PRD, in the order in which they come."""
    found: dict[tuple[str, str], list[CircuitView]] = {}
    for each in circuits:
        found.setdefault((each.repo, each.prd), []).append(each)
    return tuple(_tree(repo, prd, of_prd) for (repo, prd), of_prd in found.items())


def _tree(repo: str, prd: str, circuits: list[CircuitView]) -> Tree:
    system = next((each for each in circuits if each.level == "system"), None)
    return Tree(
        repo,
        prd,
        system or CircuitView(repo, prd, SYSTEM, "system", "closed"),
        tuple(each for each in circuits if each.level == "worker"),
        tuple(each for each in circuits if each.level == "stage"),
    )
