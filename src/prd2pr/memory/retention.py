"""How long memory is kept: which files a later commit may drop, and which records queries ignore.

Failures, estimates, retrospectives, spikes, decisions and patterns are kept forever. A finished pipeline stays on the
branch as proof, but queries ignore it once it has expired.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from prd2pr.domain.memory_records import LibraryNote
from prd2pr.memory.timestamps import parse_epoch, subtract_days
from prd2pr.state.layout import LOGS, MEMORY


@dataclass(frozen=True)
class RetentionPolicy:
    """Retention periods in days, as in `retention` of the configuration."""

    agent_logs_days: int = 90
    docs_cache_days: int = 7
    pipelines_days: int = 365


DEFAULT_RETENTION = RetentionPolicy()


def find_expired_files(
    files: Mapping[str, str], now: str, keeping: RetentionPolicy = DEFAULT_RETENTION
) -> tuple[str, ...]:
    """Return the paths of the expired logs and library notes. `files` maps paths to the time when each was written.

    Files of other kinds never expire here.
    """
    limits = {
        f"{LOGS}/": subtract_days(now, keeping.agent_logs_days),
        f"{MEMORY}/{LibraryNote.kind}/": subtract_days(now, keeping.docs_cache_days),
    }
    return tuple(
        path
        for path in sorted(files)
        if any(path.startswith(root) and parse_epoch(files[path]) <= limit for root, limit in limits.items())
    )


def find_latest_timestamp(moments: Iterable[str]) -> str:
    """Return the latest valid timestamp, or "" if none is valid."""
    found = [(at, each) for each in moments if (at := parse_timestamp(each)) is not None]
    return max(found)[1] if found else ""


def parse_timestamp(text: str) -> int | None:
    """Return the seconds since 1970, or None if the text is not a timestamp."""
    try:
        return parse_epoch(text)
    except (ValueError, OverflowError):
        return None
