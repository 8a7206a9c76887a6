"""Retries of model calls: bounded exponential backoff with jitter that honours `retry-after`."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TypeVar

from prd2pr.errors import ModelProblem

T = TypeVar("T")

RETRIED_STATUS = frozenset({408, 429, 500, 502, 503, 504, 529})


class TransientFailure(Exception):
    """A call failed that may succeed later. Never leaves the adapters."""

    def __init__(self, why: str, retry_after: float | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.retry_after = retry_after


@dataclass(frozen=True)
class ModelRetry:
    """A progress event: try `attempt` of `of` failed, the next one is in `seconds`."""

    why: str
    seconds: float
    attempt: int
    of: int


OnRetry = Callable[[ModelRetry], None]


def ignore_model_retry(_: ModelRetry) -> None:
    """Ignore retries; the default callback."""


@dataclass(frozen=True)
class RetryRule:
    tries: int = 6
    first_wait: float = 1.0
    longest_wait: float = 60.0
    longest_retry_after: float = 300.0  # a longer retry-after is cut to this
    on_retry: OnRetry = ignore_model_retry
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = field(default=random.random)

    def wait(self, attempt: int, retry_after: float | None) -> float:
        """Return the seconds to wait: half fixed backoff, half jitter, never less than `retry-after`."""
        backoff = min(self.longest_wait, self.first_wait * 2.0 ** (attempt - 1))
        spread = backoff * (0.5 + 0.5 * self.jitter())
        return max(spread, min(retry_after or 0.0, self.longest_retry_after))


def call_with_retries(call: Callable[[], T], rule: RetryRule, where: str) -> T:
    """Return the call's result; ModelProblem when all tries failed. Only `TransientFailure` is retried."""
    for attempt in range(1, rule.tries + 1):
        try:
            return call()
        except TransientFailure as failure:
            if attempt == rule.tries:
                raise _exhausted_error(failure, rule, where) from failure
            seconds = rule.wait(attempt, failure.retry_after)
            rule.on_retry(ModelRetry(failure.why, seconds, attempt, rule.tries))
            rule.sleep(seconds)
    raise AssertionError("a retry rule has at least one try")


def _exhausted_error(failure: TransientFailure, rule: RetryRule, where: str) -> ModelProblem:
    return ModelProblem(
        f"The model could not be reached in {rule.tries} tries; the last one: {failure.why}",
        where=where,
        remedy="All proved work is committed. Run the same command later to continue.",
    )


def read_retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Read the wait in seconds from `retry-after-ms` or `retry-after` (seconds or date); header names in lower case."""
    milliseconds = _parse_number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after", "")
    seconds = _parse_number(text)
    if seconds is not None or not text:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except ValueError:
        return None


def _parse_number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None
