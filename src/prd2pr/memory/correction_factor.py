"""The factor by which estimates are corrected, used by the next plan, by `query` and in ESTIMATES.md.

Only the last record of each story counts. A ratio below MIN_RATIO or above MAX_RATIO is considered an error and
ignored. A replayed model answers immediately, so the minutes of its PRDs only measure test runs and are ignored, but
its sessions count.
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
        """Actual ÷ estimated, or None if nothing was estimated or the quotient is not finite."""
        found = self.actual / self.estimated if self.estimated > 0 else math.inf
        return found if math.isfinite(found) else None

    @property
    def ratio(self) -> float | None:
        """Actual effort divided by estimated effort, or None if the quotient is implausible."""
        found = self.quotient
        return found if found is not None and MIN_RATIO <= found <= MAX_RATIO else None


class FinishedStory(NamedTuple):
    """A finished story with its effort."""

    at: int
    id: str  # the record's id; of two records written in the same second, the greater id counts
    prd: str
    story: str
    minutes: EffortPair
    sessions: EffortPair


@dataclass(frozen=True)
class CorrectionFactor:
    """The correction factors, each None if nothing was measured yet."""

    sessions: float | None
    minutes: float | None
    estimates: int  # number of stories used
    timed: int  # number of those whose minutes count
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
    """Return the mean of actual ÷ estimated over the stories finished in the last `days` before `until`.

    `replayed` contains the ids of PRDs whose model was replayed.
    """
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
