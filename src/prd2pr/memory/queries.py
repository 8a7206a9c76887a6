"""Queries over the index of one commit. The current time is a parameter.

An index supports SQL (see `memory/index/schema.py` for the tables) and, with vectors, similarity of meaning. Queries
leave out records that have expired under the `RetentionPolicy`; the index contains everything.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from prd2pr.domain.records import REPLAY_OF
from prd2pr.memory.correction_factor import (
    FACTOR_DAYS,
    CorrectionFactor,
    EffortPair,
    FinishedStory,
    compute_mean_factor,
)
from prd2pr.memory.retention import DEFAULT_RETENTION, RetentionPolicy
from prd2pr.memory.similarity import (
    RelevantMemory,
    SearchIndex,
    SimilarFailure,
    SimilarPattern,
    find_relevant,
    find_similar_failures,
    find_similar_patterns,
    find_similar_texts,
)
from prd2pr.memory.timestamps import parse_epoch, subtract_days

__all__ = [
    "AgentTime",
    "ComplexityTrend",
    "CorrectionFactor",
    "ExceededPlan",
    "RelevantMemory",
    "SearchIndex",
    "SimilarFailure",
    "SimilarPattern",
    "StaleDoc",
    "compute_complexity_trends",
    "compute_correction_factor",
    "find_relevant",
    "find_scope_creep",
    "find_similar_failures",
    "find_similar_patterns",
    "find_similar_texts",
    "find_stale_docs",
    "rank_slow_agents",
]  # fmt: skip

CREEP_RATIO = 1.5  # steps done ÷ steps planned
GROWTH_RATIO = 1.5  # complexity now ÷ complexity some stories ago
TREND_SNAPSHOTS = 5


# --- planned and done -------------------------------------------------------------------------------------------------


def compute_correction_factor(index: SearchIndex, now: str, days: int = FACTOR_DAYS) -> CorrectionFactor:
    rows = index.rows(
        "SELECT completed_at, id, prd, story, estimated_minutes, actual_minutes, estimated_sessions, actual_sessions"
        " FROM estimates WHERE completed_at > ? AND completed_at <= ?",
        (subtract_days(now, days), parse_epoch(now)),
    )
    stories = [
        FinishedStory(at, name, prd, story, EffortPair(*numbers[:2]), EffortPair(*numbers[2:]))
        for at, name, prd, story, *numbers in rows
    ]
    return compute_mean_factor(stories, list_replayed_prds(index), parse_epoch(now), days)


def list_replayed_prds(index: SearchIndex) -> frozenset[str]:
    """Return the PRDs for which a model was replayed from a recording."""
    rows = index.rows("SELECT DISTINCT prd FROM sessions WHERE substr(model, 1, ?) = ?", (len(REPLAY_OF), REPLAY_OF))
    return frozenset(prd for (prd,) in rows)


@dataclass(frozen=True)
class ExceededPlan:
    """A PRD that took more steps than planned."""

    id: str
    feature_request: str
    status: str
    planned_steps: int
    actual_steps: int
    ratio: float
    added_stories: tuple[str, ...]  # added by people after the plan


def find_scope_creep(
    index: SearchIndex, now: str, keeping: RetentionPolicy = DEFAULT_RETENTION, times: float = CREEP_RATIO
) -> tuple[ExceededPlan, ...]:
    """Return the PRDs that took more than `times` their planned steps, the worst first."""
    rows = index.rows(
        "SELECT id, feature_request, status, planned_steps, actual_steps, added_stories"
        " FROM pipeline_states WHERE planned_steps > 0 AND actual_steps > planned_steps * ?"
        " AND (status != 'IDLE' OR updated_at IS NULL OR updated_at > ?)"
        " ORDER BY CAST(actual_steps AS REAL) / planned_steps DESC, id",
        (times, subtract_days(now, keeping.pipelines_days)),
    )
    return tuple(
        ExceededPlan(
            id=prd,
            feature_request=title,
            status=status,
            planned_steps=planned,
            actual_steps=actual,
            ratio=round(actual / planned, 3),
            added_stories=tuple(json.loads(added)),
        )
        for prd, title, status, planned, actual, added in rows
    )


# --- documentation, roles, code ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StaleDoc:
    """A library note that has expired."""

    library: str
    version: str
    fetched_at: int
    expires_at: int


def find_stale_docs(index: SearchIndex, now: str) -> tuple[StaleDoc, ...]:
    """Return expired library notes, the oldest first, without those that have been fetched again."""
    rows = index.rows(
        "SELECT library, version, max(fetched_at) AS fetched, max(expires_at) AS expires FROM docs_cache"
        " GROUP BY library, version HAVING expires <= ? ORDER BY fetched, library, version",
        (parse_epoch(now),),
    )
    return tuple(StaleDoc(*row) for row in rows)


@dataclass(frozen=True)
class AgentTime:
    """The duration of a role's calls."""

    agent: str
    calls: int
    average_ms: int
    slowest_ms: int
    failed: int


def rank_slow_agents(
    index: SearchIndex, now: str, keeping: RetentionPolicy = DEFAULT_RETENTION
) -> tuple[AgentTime, ...]:
    """Return the call durations by role, the slowest first. Calls without a duration are ignored."""
    rows = index.rows(
        "SELECT agent_name, count(*), CAST(round(avg(duration_ms)) AS INTEGER), max(duration_ms), sum(NOT success)"
        " FROM agent_logs WHERE action = 'call' AND duration_ms IS NOT NULL AND timestamp > ?"
        " GROUP BY agent_name ORDER BY avg(duration_ms) DESC, agent_name",
        (subtract_days(now, keeping.agent_logs_days),),
    )
    return tuple(AgentTime(*row) for row in rows)


@dataclass(frozen=True)
class ComplexityTrend:
    """The change in a file's complexity."""

    path: str
    snapshots: int
    before: float
    now: float
    growth: float  # now ÷ before
    flagged: bool  # whether it grows too fast
    lines: int


def compute_complexity_trends(index: SearchIndex, path: str = "") -> tuple[ComplexityTrend, ...]:
    """Return trends over the last snapshots, the fastest growing first.

    Covers the file at `path`, or all files with at least two snapshots.
    """
    rows = index.rows(
        "SELECT file_path, complexity_score, lines FROM complexity_snapshots WHERE ? IN ('', file_path)"
        " ORDER BY file_path, snapshot_at DESC, id DESC",
        (path,),
    )
    trends = [compute_trend(name, list(seen)) for name, seen in groupby(rows, key=lambda row: row[0])]
    return tuple(sorted((each for each in trends if each), key=lambda each: (-each.growth, each.path)))


def compute_trend(path: str, newest_first: Sequence[tuple[Any, ...]]) -> ComplexityTrend | None:
    snapshots = newest_first[:TREND_SNAPSHOTS]
    if len(snapshots) < 2:
        return None
    now, before = snapshots[0][1], snapshots[-1][1]
    growth = round(now / max(before, 1), 3)  # a file without branches counts as one
    return ComplexityTrend(path, len(snapshots), before, now, growth, growth > GROWTH_RATIO, snapshots[0][2])
