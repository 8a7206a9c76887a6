"""Circuit breakers as a tree of system, workers and stages, including those that never failed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from prd2pr.domain.breaker_text import describe_circuit
from prd2pr.domain.breakers.circuits import get_circuit_state
from prd2pr.domain.breakers.records import STAGES, SYSTEM, Circuit, CircuitLevel
from prd2pr.views.board.models import PrdBoard
from prd2pr.views.models import CircuitView


@dataclass(frozen=True)
class CircuitTree:
    """The circuit breakers of one PRD. All workers share the same stages."""

    repo: str
    prd: str
    system: CircuitView
    workers: tuple[CircuitView, ...]
    stages: tuple[CircuitView, ...]

    @property
    def not_closed(self) -> tuple[CircuitView, ...]:
        """List the breakers that are open or half-open: first the system, then workers, then stages."""
        return tuple(each for each in (self.system, *self.workers, *self.stages) if each.state != "closed")


def build_circuit_views(board: PrdBoard, at: str) -> tuple[CircuitView, ...]:
    """Build the views of all circuit breakers at the time `at`: first the system, then workers, then stages."""
    known = board.circuits.circuits
    models = (run.model for run in board.runs if run.model and not run.replayed)
    workers = dict.fromkeys((*(each.name for each in known if each.level == "worker"), *models))
    names: list[tuple[str, CircuitLevel]] = [(SYSTEM, "system")]
    names += [(name, "worker") for name in sorted(workers)]
    names += [(name, "stage") for name in STAGES]
    return tuple(
        _build_view(board, board.circuits.find_circuit(name) or Circuit(name=name, level=level), at)
        for name, level in names
    )


def _build_view(board: PrdBoard, circuit: Circuit, at: str) -> CircuitView:
    state = get_circuit_state(circuit, at)
    return CircuitView(
        repo=board.view.repo,
        prd=board.view.id,
        state=state,
        **circuit.model_dump(exclude={"openings"}),
        told=describe_circuit(circuit, at) if state != "closed" else "",
    )


def group_circuits(circuits: Iterable[CircuitView]) -> tuple[CircuitTree, ...]:
    """Group circuit breakers by PRD and keep their order."""
    found: dict[tuple[str, str], list[CircuitView]] = {}
    for each in circuits:
        found.setdefault((each.repo, each.prd), []).append(each)
    return tuple(_build_tree(repo, prd, of_prd) for (repo, prd), of_prd in found.items())


def _build_tree(repo: str, prd: str, circuits: list[CircuitView]) -> CircuitTree:
    system = next((each for each in circuits if each.level == "system"), None)
    return CircuitTree(
        repo,
        prd,
        system or CircuitView(repo=repo, prd=prd, name=SYSTEM, level="system", state="closed"),
        tuple(each for each in circuits if each.level == "worker"),
        tuple(each for each in circuits if each.level == "stage"),
    )
