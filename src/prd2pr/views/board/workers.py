"""Workers as recorded on the branches. Only a server knows which workers are active now."""

from __future__ import annotations

from collections.abc import Iterable

from prd2pr.domain.breakers.records import CircuitState
from prd2pr.domain.records import Spend
from prd2pr.views.models import CircuitView, RunView, WorkerView


def build_worker_views(runs: Iterable[RunView], circuits: Iterable[CircuitView]) -> tuple[WorkerView, ...]:
    """Build one view for each model named in a run, most recent first."""
    of_model: dict[str, list[RunView]] = {}
    for run in runs:
        of_model.setdefault(run.model, []).append(run)
    known = tuple(circuits)
    found = (_build_worker_view(name, of_one, known) for name, of_one in of_model.items() if name)
    return tuple(sorted(found, key=lambda each: (each.last_seen, each.name), reverse=True))


def _build_worker_view(name: str, runs: list[RunView], circuits: tuple[CircuitView, ...]) -> WorkerView:
    return WorkerView(
        name=name,
        kind="recording" if runs[0].replayed else "model",
        repos=tuple(sorted({run.repo for run in runs})),
        runs=len(runs),
        steps=sum(len(run.steps) for run in runs),
        spend=sum((run.spend for run in runs), Spend()),
        last_seen=max(run.ended_at or run.started_at for run in runs),
        circuit=find_worst_circuit_state(
            each.state for each in circuits if each.level == "worker" and each.name == name
        ),
    )


def find_worst_circuit_state(states: Iterable[CircuitState]) -> CircuitState:
    found = set(states)
    return "open" if "open" in found else "half-open" if "half-open" in found else "closed"
