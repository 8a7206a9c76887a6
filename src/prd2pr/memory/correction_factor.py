"""The factor by which estimates are corrected: one rule for the next plan, for `query` and for ESTIMATES.md.

The last record of each story counts. A ratio outside of MIN_RATIO and MAX_RATIO is a mistake and is ignored. A
replayed model answers at once, so minutes of its PRDs only measure test runs and are ignored; sessions count.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from prd2pr.domain.memory_records import EstimateRecord
from prd2pr.memory.timestamps import DAY_SECONDS, parse_epoch

MIN_RATIO, MAX_RATIO = 0.01, 100.0
FACTOR_DAYS = 90


class EffortPair(NamedTuple):
    """Estimated and actual effort."""

    estimated: float
    actual: float

    @property
    def quotient(self) -> float | None:
        """Actual ÷ estimated; None if nothing was estimated or the quotient is not finite."""
        found = self.actual / self.estimated if self.estimated > 0 else math.inf
        return found if math.isfinite(found) else None

    @property
    def ratio(self) -> float | None:
        """The quotient, if it is plausible."""
        found = self.quotient
        return found if found is not None and MIN_RATIO <= found <= MAX_RATIO else None


class FinishedStory(NamedTuple):
    """A finished story with its effort."""

    at: int
    id: str  # of the record: of two written in the same second, the greater id counts
    prd: str
    story: str
    minutes: EffortPair
    sessions: EffortPair


@dataclass(frozen=True)
class CorrectionFactor:
    """The factors; None: nothing was measured yet."""

    sessions: float | None
    minutes: float | None
    estimates: int  # stories that were used
    timed: int  # of these, the ones whose minutes count
    days: int


def make_finished_story(record: EstimateRecord) -> FinishedStory:
    return FinishedStory(
        parse_epoch(record.at),
        record.id,
        record.prd,
        record.story,
        EffortPair(record.estimated_minutes, record.actual_minutes),
        EffortPair(record.estimated_sessions, record.actual_sessions),
    )


def compute_mean_factor(
    stories: Iterable[FinishedStory], replayed: Collection[str], until: int, days: int = FACTOR_DAYS
) -> CorrectionFactor:
    """The mean of actual ÷ estimated over the stories finished in the days before `until`. `replayed`: ids of PRDs."""
    recent = sorted(each for each in stories if until - days * DAY_SECONDS < each.at <= until)
    last = {(each.prd, each.story): each for each in recent}.values()
    sessions = [ratio for each in last if (ratio := each.sessions.ratio) is not None]
    minutes = [ratio for each in last if each.prd not in replayed and (ratio := each.minutes.ratio) is not None]
    counted = sum(
        each.sessions.ratio is not None or (each.prd not in replayed and each.minutes.ratio is not None)
        for each in last
    )
    return CorrectionFactor(compute_mean_ratio(sessions), compute_mean_ratio(minutes), counted, len(minutes), days)


def compute_mean_ratio(ratios: list[float]) -> float | None:
    return round(sum(ratios) / len(ratios), 3) if ratios else None
