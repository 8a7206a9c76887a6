"""Moments of records as seconds since 1970, so that they can be compared and counted with."""

from __future__ import annotations

from datetime import UTC, datetime

DAY = 86_400  # seconds


def epoch(at: str) -> int:
    """ValueError for what is no moment, one without a time zone, or one before or after all years that UTC counts."""
    moment = datetime.fromisoformat(at)
    if moment.tzinfo is None:
        raise ValueError(f"{at!r} names no time zone")
    seconds = int(moment.timestamp())
    try:
        datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError) as error:
        raise ValueError(f"{at!r} is out of range: {error}") from error
    return seconds


def days_before(now: str, days: int) -> int:
    return epoch(now) - days * DAY
