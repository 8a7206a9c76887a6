"""ESTIMATES: estimated and actual effort of finished stories, and the correction factor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from prd2pr.domain.costs.estimate import get_guessed_minutes
from prd2pr.domain.memory_records import EstimateRecord
from prd2pr.livingdocs.history import LivingFacts, StoryHistory
from prd2pr.livingdocs.mermaid import draw_bar_chart
from prd2pr.memory.correction_factor import CorrectionFactor, EffortPair, compute_mean_factor, make_finished_story
from prd2pr.memory.lessons import count_planned_sessions, count_sessions

CHARTED = 12
LISTED = 200


class EstimateRow(NamedTuple):
    story: str
    title: str
    at: str
    complexity: int
    minutes: EffortPair
    sessions: EffortPair


class EstimatesView(NamedTuple):
    rows: tuple[EstimateRow, ...]
    more: int
    chart: tuple[str, ...]
    factor: CorrectionFactor
    replayed: bool  # recorded answers take no time, so the minutes of these PRDs mean nothing


def build_estimates_view(facts: LivingFacts) -> EstimatesView:
    rows = sorted(list_estimate_rows(facts), key=lambda row: (row.at, row.story))
    replayed = frozenset(worked.prd.id for worked in facts.prds if worked.replayed)
    return EstimatesView(
        rows=tuple(reversed(rows[-LISTED:])),
        more=max(0, len(rows) - LISTED),
        chart=draw_estimates(rows[-CHARTED:], "sessions" if replayed else "minutes"),
        factor=compute_factor(facts, replayed),
        replayed=bool(replayed),
    )


def compute_factor(facts: LivingFacts, replayed: frozenset[str]) -> CorrectionFactor:
    """Compute the factor of `query correction-factor`, relative to the newest story: documents read no clock."""
    stories = [make_finished_story(record) for record in facts.memory.estimates]
    return compute_mean_factor(stories, replayed, until=max((each.at for each in stories), default=0))


def draw_estimates(rows: Sequence[EstimateRow], unit: str) -> tuple[str, ...]:
    taken = [row.sessions if unit == "sessions" else row.minutes for row in rows]
    series = [each.estimated for each in taken], [each.actual for each in taken]
    return draw_bar_chart("Bars: estimated. Line: actual.", unit, [row.story for row in rows], series)


def list_estimate_rows(facts: LivingFacts) -> Iterator[EstimateRow]:
    """Yield a row per finished story, from memory or, if not recorded there, from its own records."""
    titles = {(each.history.prd.id, each.id): each.title for each in facts.done()}
    remembered = {(record.prd, record.story): record for record in facts.memory.estimates}
    for key, record in remembered.items():
        yield build_remembered_row(record, titles.get(key, record.feature))
    for each in facts.done():
        if (each.history.prd.id, each.id) not in remembered:
            yield build_recorded_row(each)


def build_remembered_row(record: EstimateRecord, title: str) -> EstimateRow:
    return EstimateRow(
        record.story or record.prd,
        title,
        record.at,
        record.complexity,
        EffortPair(record.estimated_minutes, record.actual_minutes),
        EffortPair(record.estimated_sessions, record.actual_sessions),
    )


def build_recorded_row(each: StoryHistory) -> EstimateRow:
    return EstimateRow(
        each.id,
        each.title,
        each.last_worked_at,
        each.story.complexity,
        EffortPair(get_guessed_minutes(each.story), each.minutes),
        EffortPair(count_planned_sessions(each.story), count_sessions(each.cycle)),
    )
