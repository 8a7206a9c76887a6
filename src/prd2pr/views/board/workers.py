"""Workers as recorded on the branches. Only a server knows which workers are active now."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from prd2pr.domain.breakers.records import CircuitState
from prd2pr.domain.records import Spend
from prd2pr.views.board.changes import is_final_outcome
from prd2pr.views.models import CircuitView, RunView, WorkerView, make_task_key

# A worker whose last commit is younger counts as working, unless that commit ended the work. It is about the duration
# of the longest calls and gates.
WORKING_FOR = timedelta(minutes=15)


def build_worker_views(runs: Iterable[RunView], circuits: Iterable[CircuitView], now: str) -> tuple[WorkerView, ...]:
    """Build one view for each model named in a run, most recent first."""
    of_model: dict[str, list[RunView]] = {}
    for run in runs:
        of_model.setdefault(run.model, []).append(run)
    known = tuple(circuits)
    found = (_build_worker_view(name, of_one, known, now) for name, of_one in of_model.items() if name)
    return tuple(sorted(found, key=lambda each: (each.last_seen, each.name), reverse=True))


def _build_worker_view(name: str, runs: list[RunView], circuits: tuple[CircuitView, ...], now: str) -> WorkerView:
    last = max(runs, key=lambda run: run.ended_at or run.started_at)
    working = is_working(last, now)
    return WorkerView(
        name=name,
        state="working" if working else "idle",
        working_on=make_task_key(last.repo, last.steps[-1].partition("/")[0]) if working and last.steps else "",
        kind="recording" if runs[0].replayed else "model",
        repos=tuple(sorted({run.repo for run in runs})),
        runs=len(runs),
        steps=sum(len(run.steps) for run in runs),
        spend=sum((run.spend for run in runs), Spend()),
        last_seen=last.ended_at or last.started_at,
        circuit=find_worst_circuit_state(
            each.state for each in circuits if each.level == "worker" and each.name == name
        ),
    )


def is_working(run: RunView, now: str) -> bool:
    if is_final_outcome(run.outcome):
        return False
    try:
        age = datetime.fromisoformat(now) - datetime.fromisoformat(run.ended_at or run.started_at)
    except (ValueError, TypeError):
        return False
    return age <= WORKING_FOR


def find_worst_circuit_state(states: Iterable[CircuitState]) -> CircuitState:
    found = set(states)
    return "open" if "open" in found else "half-open" if "half-open" in found else "closed"
