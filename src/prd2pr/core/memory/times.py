"""Moments of records as seconds since 1970, so that they can be compared and counted with."""

from __future__ import annotations

from datetime import datetime

DAY = 86_400  # seconds


def epoch(at: str) -> int:
    """ValueError for what is no moment, or one without a time zone."""
    moment = datetime.fromisoformat(at)
    if moment.tzinfo is None:
        raise ValueError(f"{at!r} names no time zone")
    return int(moment.timestamp())


def days_before(now: str, days: int) -> int:
    return epoch(now) - days * DAY
