"""When a failed call is repeated: backoff with jitter, the wait that a server requests, and when to give up.

All callers share this policy. They only classify what failed.
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
    """For observers: try `attempt` of `of` failed, the next one is in `seconds`."""

    why: str
    seconds: float
    attempt: int
    of: int


def ignore_retry(_: RetryNotice) -> None:
    """For callers that do not observe retries."""


@dataclass(frozen=True)
class RetryPolicy:
    """Pure but for its last four fields, which tests replace. Times are in seconds."""

    tries: int = 5
    first_wait: float = 0.5
    longest_wait: float = 20.0  # of the backoff
    longest_request: float = 120.0  # of the wait that a server requests
    cuts_long_requests: bool = False  # wait `longest_request` instead of giving up
    deadline: float = float("inf")
    on_retry: Callable[[RetryNotice], None] = ignore_retry
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random
    now: Callable[[], float] = time.time

    def backoff(self, attempt: int) -> float:
        """Half is fixed, half is random, so that parallel callers spread."""
        wait = min(self.longest_wait, self.first_wait * 2.0 ** min(attempt - 1, MAX_DOUBLINGS))
        return wait * (0.5 + 0.5 * self.jitter())

    def wait(self, attempt: int, requested: float | None = None, elapsed: float = 0.0) -> float | None:
        """Return how long to wait after failed try `attempt`, which counts from 1; None: give up."""
        is_too_long = (requested or 0.0) > self.longest_request and not self.cuts_long_requests
        if attempt >= self.tries or elapsed >= self.deadline or is_too_long:
            return None
        return max(self.backoff(attempt), min(requested or 0.0, self.longest_request))

    def pause(self, attempt: int, why: str, requested: float | None = None) -> bool:
        """Wait before the next try; False: give up."""
        seconds = self.wait(attempt, requested)
        if seconds is None:
            return False
        self.on_retry(RetryNotice(why, seconds, attempt, self.tries))
        self.sleep(seconds)
        return True


class Headers(Protocol):
    """As every HTTP library has them."""

    def items(self) -> Iterable[tuple[str, str]]: ...


def read_retry_after(headers: Headers, now: float) -> float | None:
    """Read the wait in seconds from `retry-after-ms` or `retry-after` (seconds or date)."""
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
    """Return the number; None if it is none, negative or not finite."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None
