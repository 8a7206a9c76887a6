"""Who has done the work, as far as the branches tell. Who is at it now, only a server knows."""

from __future__ import annotations

from collections.abc import Iterable

from prd2pr.core.board.view import CircuitView, RunView, WorkerView
from prd2pr.core.breakers.circuits import State
from prd2pr.core.records import Spend


def worker_views(runs: Iterable[RunView], circuits: Iterable[CircuitView]) -> tuple[WorkerView, ...]:
    """One for each model that a run names, the last one seen first."""
    of_model: dict[str, list[RunView]] = {}
    for run in runs:
        of_model.setdefault(run.model, []).append(run)
    known = tuple(circuits)
    found = (_worker(name, of_one, known) for name, of_one in of_model.items() if name)
    return tuple(sorted(found, key=lambda each: (each.last_seen, each.name), reverse=True))


def _worker(name: str, runs: list[RunView], circuits: tuple[CircuitView, ...]) -> WorkerView:
    return WorkerView(
        name=name,
        kind="recording" if runs[0].replayed else "model",
        repos=tuple(sorted({run.repo for run in runs})),
        runs=len(runs),
        steps=sum(len(run.steps) for run in runs),
        spend=sum((run.spend for run in runs), Spend()),
        last_seen=max(run.ended_at or run.started_at for run in runs),
        circuit=worst(each.state for each in circuits if each.level == "worker" and each.name == name),
    )


def worst(states: Iterable[State]) -> State:
    found = set(states)
    return "open" if "open" in found else "half-open" if "half-open" in found else "closed"
