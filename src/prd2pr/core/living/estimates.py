"""ESTIMATES: what stories were thought to take and what they took, so that the next estimate is better."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from prd2pr.core.living.mermaid import bars
from prd2pr.core.living.worked import LivingFacts, StoryDone
from prd2pr.core.memory.makers import guessed_minutes, planned_sessions, sessions_taken
from prd2pr.core.memory.records import EstimateRecord

CHARTED = 12
LISTED = 200
WINDOW = timedelta(days=90)


class Taken(NamedTuple):
    """Thought to take, and took."""

    estimated: float
    actual: float

    @property
    def ratio(self) -> float | None:
        return self.actual / self.estimated if self.estimated > 0 else None


class EstimateRow(NamedTuple):
    story: str
    title: str
    at: str
    complexity: int
    minutes: Taken
    sessions: Taken


class EstimatesView(NamedTuple):
    rows: tuple[EstimateRow, ...]
    more: int
    chart: tuple[str, ...]
    minutes: float | None  # what an estimate is to be multiplied with; None: nothing says it
    sessions: float | None
    counted: int  # stories that the factors are made from
    replayed: bool  # a recorded model took part, which answers at once: minutes say nothing


def estimates(facts: LivingFacts) -> EstimatesView:
    rows = sorted(rows_of(facts), key=lambda row: (row.at, row.story))
    recent = within_window(rows)
    replayed = any(worked.replayed for worked in facts.prds)
    return EstimatesView(
        rows=tuple(reversed(rows[-LISTED:])),
        more=max(0, len(rows) - LISTED),
        chart=chart(rows[-CHARTED:], "sessions" if replayed else "minutes"),
        minutes=None if replayed else mean_ratio(recent, lambda row: row.minutes),
        sessions=mean_ratio(recent, lambda row: row.sessions),
        counted=len(recent),
        replayed=replayed,
    )


def chart(rows: Sequence[EstimateRow], unit: str) -> tuple[str, ...]:
    taken = [row.sessions if unit == "sessions" else row.minutes for row in rows]
    series = [each.estimated for each in taken], [each.actual for each in taken]
    return bars("Bars: estimated. Line: taken.", unit, [row.story for row in rows], series)


def mean_ratio(rows: Sequence[EstimateRow], taken: Callable[[EstimateRow], Taken]) -> float | None:
    ratios = [ratio for row in rows if (ratio := taken(row).ratio) is not None]
    return sum(ratios) / len(ratios) if ratios else None


def rows_of(facts: LivingFacts) -> Iterator[EstimateRow]:
    """As they were taken down with the story; for stories without that, from their own records."""
    titles = {(each.of.prd.id, each.id): each.title for each in facts.done()}
    told = {(record.prd, record.story): record for record in facts.memory.estimates}
    for key, record in told.items():
        yield remembered(record, titles.get(key, record.feature))
    for each in facts.done():
        if (each.of.prd.id, each.id) not in told:
            yield recorded(each)


def remembered(record: EstimateRecord, title: str) -> EstimateRow:
    return EstimateRow(
        record.story or record.prd,
        title,
        record.at,
        record.complexity,
        Taken(record.estimated_minutes, record.actual_minutes),
        Taken(record.estimated_sessions, record.actual_sessions),
    )


def recorded(each: StoryDone) -> EstimateRow:
    return EstimateRow(
        each.id,
        each.title,
        each.last_worked_at,
        each.story.complexity,
        Taken(guessed_minutes(each.story), each.minutes),
        Taken(planned_sessions(each.story), sessions_taken(each.cycle)),
    )


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
