"""Timestamps of records as seconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime

DAY_SECONDS = 86_400  # seconds


def parse_epoch(at: str) -> int:
    """Parse a timestamp; raise ValueError if it is invalid, has no time zone, or is out of range."""
    moment = datetime.fromisoformat(at)
    if moment.tzinfo is None:
        raise ValueError(f"{at!r} has no time zone")
    seconds = int(moment.timestamp())
    try:
        datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError) as error:
        raise ValueError(f"{at!r} is out of range: {error}") from error
    return seconds


def subtract_days(now: str, days: int) -> int:
    """Return the time `days` before a timestamp, in seconds since 1970."""
    return parse_epoch(now) - days * DAY_SECONDS
