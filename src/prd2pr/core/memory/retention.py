"""How long what is kept: which files a later commit may leave out, and what queries no longer count.

Failures, estimates, retrospectives, spikes, decisions and patterns are kept for ever. A finished pipeline stays on the
branch, where it is proof; git is its archive, and queries pass it over when its time has come.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from prd2pr.core.layout import LOGS, MEMORY
from prd2pr.core.memory.records import LibraryNote
from prd2pr.core.memory.times import days_before, epoch


@dataclass(frozen=True)
class Keeping:
    """Days, as `retention` in the configuration has them."""

    agent_logs_days: int = 90
    docs_cache_days: int = 7
    pipelines_days: int = 365
    archive_after_days: int = 90


KEEPING = Keeping()


def expired(files: Mapping[str, str], now: str, keeping: Keeping = KEEPING) -> tuple[str, ...]:
    """Of files (path → when it was written) those whose time is over. Whatever else lies among them stays."""
    limits = {
        f"{LOGS}/": days_before(now, keeping.agent_logs_days),
        f"{MEMORY}/{LibraryNote.kind}/": days_before(now, keeping.docs_cache_days),
    }
    return tuple(
        path
        for path in sorted(files)
        if any(path.startswith(root) and epoch(files[path]) <= limit for root, limit in limits.items())
    )


def last_moment(moments: Iterable[str]) -> str:
    """The latest of those that are moments at all; empty where none is."""
    found = [(at, each) for each in moments if (at := moment_or_none(each)) is not None]
    return max(found)[1] if found else ""


def moment_or_none(text: str) -> int | None:
    try:
        return epoch(text)
    except (ValueError, OverflowError):
        return None
