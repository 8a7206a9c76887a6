"""What is worth telling of a PRD's board that was read again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from prd2pr.core.board.circuits import circuit_views
from prd2pr.core.board.view import PrdBoard

Kind = Literal["task_status_changed", "circuit_state_changed", "run_completed"]


@dataclass(frozen=True)
class News:
    kind: Kind
    data: dict[str, str] = field(default_factory=dict)


def news_between(before: PrdBoard | None, after: PrdBoard, at: str) -> tuple[News, ...]:
    """A PRD that was not known before is new as a whole: each of its stories is, but nothing that is long over."""
    return (*_tasks(before, after), *_circuits(before, after, at), *_runs(before, after))


def _tasks(before: PrdBoard | None, after: PrdBoard) -> Iterator[News]:
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
        yield News(
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


def _circuits(before: PrdBoard | None, after: PrdBoard, at: str) -> Iterator[News]:
    """Only what was committed or journalled: that time has half-opened one is told when the next step tries it."""
    known = {each.id: each.state for each in circuit_views(before, at)} if before else {}
    for each in circuit_views(after, at):
        old = known.get(each.id, "closed")
        if old != each.state:
            data = {"id": each.id, "prd": each.prd, "name": each.name, "level": each.level}
            yield News("circuit_state_changed", {**data, "before": old, "after": each.state, "told": each.told})


def _runs(before: PrdBoard | None, after: PrdBoard) -> Iterator[News]:
    if before is None:
        return
    ended = {run.id for run in before.runs if run.ended_at}
    for run in after.runs:
        if run.ended_at and run.id not in ended:
            yield News("run_completed", {"run": run.id, "prd": run.prd, "outcome": run.outcome, "model": run.model})
