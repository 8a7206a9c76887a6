"""ESTIMATES: what stories were thought to take and what they took, so that the next estimate is better."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from prd2pr.core.living.mermaid import bars
from prd2pr.core.living.worked import LivingFacts

CHARTED = 12
LISTED = 200
WINDOW = timedelta(days=90)


class EstimateRow(NamedTuple):
    story: str
    title: str
    at: str
    complexity: int
    estimated: float  # minutes
    actual: float
    refused: int

    @property
    def ratio(self) -> float | None:
        return self.actual / self.estimated if self.estimated > 0 else None


class EstimatesView(NamedTuple):
    rows: tuple[EstimateRow, ...]
    more: int
    chart: tuple[str, ...]
    factor: float | None  # what an estimate is to be multiplied with
    counted: int  # stories that the factor is made from
    replayed: bool  # a recorded model took part, which answers at once


def estimates(facts: LivingFacts) -> EstimatesView:
    rows = sorted(rows_of(facts), key=lambda row: (row.at, row.story))
    recent = within_window(rows)
    ratios = [row.ratio for row in recent if row.ratio is not None]
    charted = rows[-CHARTED:]
    return EstimatesView(
        rows=tuple(reversed(rows[-LISTED:])),
        more=max(0, len(rows) - LISTED),
        chart=bars(
            "Bars: estimated. Line: taken.",
            "minutes",
            [row.story for row in charted],
            ([row.estimated for row in charted], [row.actual for row in charted]),
        ),
        factor=sum(ratios) / len(ratios) if ratios else None,
        counted=len(ratios),
        replayed=any(worked.replayed for worked in facts.prds),
    )


def rows_of(facts: LivingFacts) -> Iterator[EstimateRow]:
    """From the stories' own records; memory tells of those whose records are not here any more."""
    for each in facts.done():
        yield EstimateRow(
            each.id,
            each.title,
            each.last_worked_at,
            each.story.complexity,
            each.story.estimate_minutes,
            each.minutes,
            len(each.cycle.refused),
        )
    for record in facts.memory.estimates:
        if (record.prd, record.story) not in facts.known:
            refused = max(0, record.actual_sessions - record.estimated_sessions)
            yield EstimateRow(
                record.story or record.prd, record.feature, record.at, record.complexity, record.estimated_minutes,
                record.actual_minutes, refused,
            )  # fmt: skip


def within_window(rows: list[EstimateRow]) -> list[EstimateRow]:
    """The last 90 days, counted back from the newest story: a document has no other clock."""
    moments = [(row, moment_of(row.at)) for row in rows]
    newest = max((moment for _, moment in moments if moment), default=None)
    if newest is None:
        return rows
    return [row for row, moment in moments if moment is not None and newest - moment <= WINDOW]


def moment_of(at: str) -> datetime | None:
    try:
        return datetime.fromisoformat(at)
    except ValueError:
        return None
