"""What memory is asked, over an index of one commit. Each question is a function; the moment is an argument.

An index knows rows by SQL (`repo/memory_index/schema.py` has the tables) and, where vectors are to be had, what is
near in meaning. What is past its time by `Keeping` is left out; the index itself holds all that the commit holds.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from prd2pr.core.memory.factor import DAYS, CorrectionFactor, Measured, Taken, factor_of
from prd2pr.core.memory.retention import KEEPING, Keeping
from prd2pr.core.memory.similar import (
    Index,
    Relevant,
    SimilarFailure,
    SimilarPattern,
    relevant,
    similar_failures,
    similar_patterns,
)
from prd2pr.core.memory.times import days_before, epoch
from prd2pr.core.memory.tracing import TraceLine, trace
from prd2pr.core.records import REPLAY_OF

__all__ = [
    "AgentTime", "CorrectionFactor", "Index", "Pipeline", "Relevant", "SimilarFailure", "SimilarPattern", "StaleDoc",
    "TraceLine", "Trend", "complexity_trend", "correction_factor", "relevant", "scope_creep", "similar_failures",
    "similar_patterns", "slow_agents", "stale_docs", "trace",
]  # fmt: skip

CREEP = 1.5  # steps done ÷ steps planned
GROWTH = 1.5  # complexity now ÷ complexity some stories ago
TREND_SNAPSHOTS = 5


# --- planned and done -------------------------------------------------------------------------------------------------


def correction_factor(index: Index, now: str, days: int = DAYS) -> CorrectionFactor:
    rows = index.rows(
        "SELECT completed_at, id, prd, story, estimated_minutes, actual_minutes, estimated_sessions, actual_sessions"
        " FROM estimates WHERE completed_at > ? AND completed_at <= ?",
        (days_before(now, days), epoch(now)),
    )
    stories = [
        Measured(at, name, prd, story, Taken(*numbers[:2]), Taken(*numbers[2:]))
        for at, name, prd, story, *numbers in rows
    ]
    return factor_of(stories, replayed_prds(index), epoch(now), days)


def replayed_prds(index: Index) -> frozenset[str]:
    """Those that a recorded model took part in."""
    rows = index.rows("SELECT DISTINCT prd FROM sessions WHERE substr(model, 1, ?) = ?", (len(REPLAY_OF), REPLAY_OF))
    return frozenset(prd for (prd,) in rows)


@dataclass(frozen=True)
class Pipeline:
    """A PRD whose work goes beyond its plan."""

    id: str
    feature_request: str
    status: str
    planned_steps: int
    actual_steps: int
    ratio: float
    added_stories: tuple[str, ...]  # by people, after the plan
    archived: bool


def scope_creep(index: Index, now: str, keeping: Keeping = KEEPING, times: float = CREEP) -> tuple[Pipeline, ...]:
    """PRDs that took more than `times` the steps of their plan, the worst first."""
    rows = index.rows(
        "SELECT id, feature_request, status, planned_steps, actual_steps, added_stories, updated_at"
        " FROM pipeline_states WHERE planned_steps > 0 AND actual_steps > planned_steps * ?"
        " AND (status != 'IDLE' OR updated_at IS NULL OR updated_at > ?)"
        " ORDER BY CAST(actual_steps AS REAL) / planned_steps DESC, id",
        (times, days_before(now, keeping.pipelines_days)),
    )
    archive = days_before(now, keeping.archive_after_days)
    return tuple(
        Pipeline(
            id=prd,
            feature_request=title,
            status=status,
            planned_steps=planned,
            actual_steps=actual,
            ratio=round(actual / planned, 3),
            added_stories=tuple(json.loads(added)),
            archived=status == "IDLE" and updated is not None and updated <= archive,
        )
        for prd, title, status, planned, actual, added, updated in rows
    )


# --- documentation, roles, code ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StaleDoc:
    library: str
    version: str
    fetched_at: int
    expires_at: int


def stale_docs(index: Index, now: str) -> tuple[StaleDoc, ...]:
    """Notes about libraries that are no longer believed, the oldest first; not those that were looked up again."""
    rows = index.rows(
        "SELECT library, version, max(fetched_at) AS fetched, max(expires_at) AS expires FROM docs_cache"
        " GROUP BY library, version HAVING expires <= ? ORDER BY fetched, library, version",
        (epoch(now),),
    )
    return tuple(StaleDoc(*row) for row in rows)


@dataclass(frozen=True)
class AgentTime:
    agent: str
    calls: int
    average_ms: int
    slowest_ms: int
    failed: int


def slow_agents(index: Index, now: str, keeping: Keeping = KEEPING) -> tuple[AgentTime, ...]:
    """How long the roles' calls take, the slowest first; calls whose time nobody measured count for nothing."""
    rows = index.rows(
        "SELECT agent_name, count(*), CAST(round(avg(duration_ms)) AS INTEGER), max(duration_ms), sum(NOT success)"
        " FROM agent_logs WHERE action = 'call' AND duration_ms IS NOT NULL AND timestamp > ?"
        " GROUP BY agent_name ORDER BY avg(duration_ms) DESC, agent_name",
        (days_before(now, keeping.agent_logs_days),),
    )
    return tuple(AgentTime(*row) for row in rows)


@dataclass(frozen=True)
class Trend:
    path: str
    snapshots: int
    before: float
    now: float
    growth: float  # now ÷ before
    flagged: bool  # it grows too fast
    lines: int


def complexity_trend(index: Index, path: str = "") -> tuple[Trend, ...]:
    """Over the last snapshots of a file, or of all that have two; the one that grew most first."""
    rows = index.rows(
        "SELECT file_path, complexity_score, lines FROM complexity_snapshots WHERE ? IN ('', file_path)"
        " ORDER BY file_path, snapshot_at DESC, id DESC",
        (path,),
    )
    trends = [trend(name, list(seen)) for name, seen in groupby(rows, key=lambda row: row[0])]
    return tuple(sorted((each for each in trends if each), key=lambda each: (-each.growth, each.path)))


def trend(path: str, newest_first: Sequence[tuple[Any, ...]]) -> Trend | None:
    seen = newest_first[:TREND_SNAPSHOTS]
    if len(seen) < 2:
        return None
    now, before = seen[0][1], seen[-1][1]
    growth = round(now / max(before, 1), 3)  # a file without a branch counts as one
    return Trend(path, len(seen), before, now, growth, growth > GROWTH, seen[0][2])
