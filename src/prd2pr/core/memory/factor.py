"""What estimates are to be multiplied by: one rule, for the next plan, for `query` and for ESTIMATES.md.

Of each story the last record counts. A ratio beyond LEAST and MOST tells of a mistake, not of a lesson, and is left
out. A replayed model answers at once: minutes of its PRDs are those of test runs and teach nothing, sessions do.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from prd2pr.core.memory.records import EstimateRecord
from prd2pr.core.memory.times import DAY, epoch

LEAST, MOST = 0.01, 100.0
DAYS = 90


class Taken(NamedTuple):
    """Thought to take, and took."""

    estimated: float
    actual: float

    @property
    def quotient(self) -> float | None:
        """None: nothing was estimated, or so little that the quotient of two numbers is none."""
        found = self.actual / self.estimated if self.estimated > 0 else math.inf
        return found if math.isfinite(found) else None

    @property
    def ratio(self) -> float | None:
        """What it teaches; None: nothing."""
        found = self.quotient
        return found if found is not None and LEAST <= found <= MOST else None


class Measured(NamedTuple):
    """A story that is done."""

    at: int
    id: str  # of the record: the greater one counts of two that were written in the same second
    prd: str
    story: str
    minutes: Taken
    sessions: Taken


@dataclass(frozen=True)
class CorrectionFactor:
    """None: nothing was measured yet."""

    sessions: float | None
    minutes: float | None
    estimates: int  # stories that it was learnt from
    timed: int  # of these, the ones whose minutes count
    days: int


def measured(record: EstimateRecord) -> Measured:
    return Measured(
        epoch(record.at),
        record.id,
        record.prd,
        record.story,
        Taken(record.estimated_minutes, record.actual_minutes),
        Taken(record.estimated_sessions, record.actual_sessions),
    )


def factor_of(stories: Iterable[Measured], replayed: Collection[str], until: int, days: int = DAYS) -> CorrectionFactor:
    """The mean of actual ÷ estimated over what was finished in the days up to a moment. `replayed`: ids of PRDs."""
    recent = sorted(each for each in stories if until - days * DAY < each.at <= until)
    last = {(each.prd, each.story): each for each in recent}.values()
    sessions = [ratio for each in last if (ratio := each.sessions.ratio) is not None]
    minutes = [ratio for each in last if each.prd not in replayed and (ratio := each.minutes.ratio) is not None]
    counted = sum(
        each.sessions.ratio is not None or (each.prd not in replayed and each.minutes.ratio is not None)
        for each in last
    )
    return CorrectionFactor(mean(sessions), mean(minutes), counted, len(minutes), days)


def mean(ratios: list[float]) -> float | None:
    return round(sum(ratios) / len(ratios), 3) if ratios else None
