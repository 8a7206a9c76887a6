"""Retries of model calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from prd2pr.errors import ModelProblem
from prd2pr.retry import RetryPolicy

T = TypeVar("T")

RETRIED_STATUS = frozenset({408, 429, 500, 502, 503, 504, 529})
MODEL_RETRIES = RetryPolicy(tries=6, first_wait=1.0, longest_wait=60.0, longest_request=300.0, cuts_long_requests=True)


class TransientFailure(Exception):
    """A failed call that may succeed later. Adapters never raise it to their callers."""

    def __init__(self, why: str, retry_after: float | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.retry_after = retry_after


def call_with_retries(call: Callable[[], T], policy: RetryPolicy, where: str) -> T:
    """Return the call's result; raise ModelProblem if all tries fail. Only `TransientFailure` is retried."""
    attempt = 0
    while True:
        attempt += 1
        try:
            return call()
        except TransientFailure as failure:
            if not policy.pause(attempt, failure.why, failure.retry_after):
                raise ModelProblem(
                    f"The model could not be reached in {attempt} tries; last error: {failure.why}",
                    where=where,
                    remedy="All proved work is committed. Run the same command later to continue.",
                ) from failure
