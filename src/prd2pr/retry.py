"""When to retry a failed call: backoff with jitter, delays requested by a server, and when to give up.

All callers share this policy and only classify the failures.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Protocol

MAX_DOUBLINGS = 30


@dataclass(frozen=True)
class RetryNotice:
    """Reports to observers that try `attempt` of `of` failed and that the next one follows in `seconds`."""

    why: str
    seconds: float
    attempt: int
    of: int


def ignore_retry(_: RetryNotice) -> None:
    """Do nothing, for callers that do not observe retries."""


@dataclass(frozen=True)
class RetryPolicy:
    """A retry policy with times in seconds. Only the last four fields have side effects; tests replace them."""

    tries: int = 5
    first_wait: float = 0.5
    longest_wait: float = 20.0  # maximum backoff
    longest_request: float = 120.0  # maximum delay that a server may request
    cuts_long_requests: bool = False  # wait `longest_request` instead of giving up
    deadline: float = float("inf")
    on_retry: Callable[[RetryNotice], None] = ignore_retry
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random
    now: Callable[[], float] = time.time

    def backoff(self, attempt: int) -> float:
        """Return the backoff, half of it random so that parallel callers spread out."""
        wait = min(self.longest_wait, self.first_wait * 2.0 ** min(attempt - 1, MAX_DOUBLINGS))
        return wait * (0.5 + 0.5 * self.jitter())

    def wait(self, attempt: int, requested: float | None = None, elapsed: float = 0.0) -> float | None:
        """Return the delay after a failed attempt, counted from 1, or None to give up."""
        is_too_long = (requested or 0.0) > self.longest_request and not self.cuts_long_requests
        if attempt >= self.tries or elapsed >= self.deadline or is_too_long:
            return None
        return max(self.backoff(attempt), min(requested or 0.0, self.longest_request))

    def pause(self, attempt: int, why: str, requested: float | None = None) -> bool:
        """Wait before the next try, or return False to give up."""
        seconds = self.wait(attempt, requested)
        if seconds is None:
            return False
        self.on_retry(RetryNotice(why, seconds, attempt, self.tries))
        self.sleep(seconds)
        return True


class Headers(Protocol):
    """The methods that the header objects of all HTTP libraries have in common."""

    def items(self) -> Iterable[tuple[str, str]]: ...


def read_retry_after(headers: Headers, now: float) -> float | None:
    """Return the requested delay in seconds from `retry-after-ms` or `retry-after` (seconds or a date)."""
    values = {name.lower(): value for name, value in headers.items()}
    milliseconds = parse_seconds(values.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = values.get("retry-after", "")
    seconds = parse_seconds(text)
    if seconds is not None or not text:
        return seconds
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now)


def parse_seconds(text: str | None) -> float | None:
    """Return the number, or None if it is invalid, negative or not finite."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None
