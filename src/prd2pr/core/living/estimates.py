"""ESTIMATES: what stories were thought to take and what they took, so that the next estimate is better."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from prd2pr.core.estimate import guessed_minutes
from prd2pr.core.living.mermaid import bars
from prd2pr.core.living.worked import LivingFacts, StoryDone
from prd2pr.core.memory.factor import CorrectionFactor, Taken, factor_of, measured
from prd2pr.core.memory.makers import planned_sessions, sessions_taken
from prd2pr.core.memory.records import EstimateRecord

CHARTED = 12
LISTED = 200


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
    factor: CorrectionFactor
    replayed: bool  # a recorded model took part, which answers at once: minutes of its PRDs say nothing


def estimates(facts: LivingFacts) -> EstimatesView:
    rows = sorted(rows_of(facts), key=lambda row: (row.at, row.story))
    replayed = frozenset(worked.prd.id for worked in facts.prds if worked.replayed)
    return EstimatesView(
        rows=tuple(reversed(rows[-LISTED:])),
        more=max(0, len(rows) - LISTED),
        chart=chart(rows[-CHARTED:], "sessions" if replayed else "minutes"),
        factor=factor_by_memory(facts, replayed),
        replayed=bool(replayed),
    )


def factor_by_memory(facts: LivingFacts, replayed: frozenset[str]) -> CorrectionFactor:
    """As `query correction-factor` has it, but counted back from the newest story: a document has no other clock."""
    stories = [measured(record) for record in facts.memory.estimates]
    return factor_of(stories, replayed, until=max((each.at for each in stories), default=0))


def chart(rows: Sequence[EstimateRow], unit: str) -> tuple[str, ...]:
    taken = [row.sessions if unit == "sessions" else row.minutes for row in rows]
    series = [each.estimated for each in taken], [each.actual for each in taken]
    return bars("Bars: estimated. Line: taken.", unit, [row.story for row in rows], series)


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
