"""Compute the events between two versions of a PRD's board."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from prd2pr.domain.records import UNFINISHED_OUTCOMES
from prd2pr.views.board.breakers import build_circuit_views
from prd2pr.views.board.models import PrdBoard
from prd2pr.views.models import RunView

ChangeKind = Literal["task_status_changed", "circuit_state_changed", "worker_heartbeat", "run_completed"]


@dataclass(frozen=True)
class BoardChange:
    kind: ChangeKind
    data: dict[str, str] = field(default_factory=dict)


def diff_boards(before: PrdBoard | None, after: PrdBoard, at: str) -> tuple[BoardChange, ...]:
    """Return the changes between two boards.

    For a new PRD, every story is a change, but finished runs are not.
    """
    return (*_diff_tasks(before, after), *_diff_circuits(before, after, at), *_diff_runs(before, after))


def _diff_tasks(before: PrdBoard | None, after: PrdBoard) -> Iterator[BoardChange]:
    known = {card.id: card for card in before.cards} if before else {}
    for card in after.cards:
        old = known.get(card.id)
        if old and (old.column, old.phase, old.outcome, old.refused) == (
            card.column,
            card.phase,
            card.outcome,
            card.refused,
        ):
            continue
        yield BoardChange(
            "task_status_changed",
            {
                "key": card.key,
                "prd": card.prd,
                "story": card.id,
                "before": old.column.value if old else "",
                "after": card.column.value,
                "phase": card.phase,
                "outcome": card.outcome,
            },
        )


def _diff_circuits(before: PrdBoard | None, after: PrdBoard, at: str) -> Iterator[BoardChange]:
    """Yield recorded changes. A breaker that becomes half-open over time is reported when the next step tries it."""
    known = {each.id: each.state for each in build_circuit_views(before, at)} if before else {}
    for each in build_circuit_views(after, at):
        old = known.get(each.id, "closed")
        if old != each.state:
            data = {"id": each.id, "prd": each.prd, "name": each.name, "level": each.level}
            yield BoardChange("circuit_state_changed", {**data, "before": old, "after": each.state, "told": each.told})


def _diff_runs(before: PrdBoard | None, after: PrdBoard) -> Iterator[BoardChange]:
    if before is None:
        return
    known = {run.id: run for run in before.runs}
    for run in after.runs:
        old = known.get(run.id)
        if old is None or len(run.steps) > len(old.steps):
            step = run.steps[-1] if run.steps else ""
            data = {"worker": run.model, "run": run.id, "prd": run.prd, "step": step, "at": run.ended_at}
            yield BoardChange("worker_heartbeat", data)
        if has_ended(after, run) and (old is None or not has_ended(before, old)):
            data = {"run": run.id, "prd": run.prd, "outcome": run.outcome, "model": run.model}
            yield BoardChange("run_completed", data)


def has_ended(board: PrdBoard, run: RunView) -> bool:
    """Return whether the run's last commit ended the work, or a later run followed."""
    followed = any(other.started_at > run.started_at for other in board.runs)
    return bool(run.ended_at) and (followed or is_final_outcome(run.outcome))


def is_final_outcome(outcome: str) -> bool:
    """Return whether the run is over. After the outcome of a plan, a phase or a story, more commits follow."""
    return not outcome.endswith(UNFINISHED_OUTCOMES)
