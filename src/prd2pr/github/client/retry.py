"""What to do with a response, or without one: accept it, retry later, check first whether it was done, or give up.

A request rejected at a rate limit was not executed and may be sent again. One without a response, or with a server
error, may have been executed: a read is repeated; before a write, check first.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from prd2pr.errors import HubProblem, HubUnreachable, RateLimited
from prd2pr.github.client.errors import classify_error
from prd2pr.github.client.exchange import ApiResponse, CallOutcome, NoResponse, RestCall

MINUTE = 60.0


@dataclass(frozen=True)
class RetryNotice:
    """For observers: try `attempt` of `of` failed, the next one is in `seconds`."""

    why: str
    seconds: float
    attempt: int
    of: int


def ignore_retry_notice(_: RetryNotice) -> None:
    """For callers that do not observe retries."""


@dataclass(frozen=True)
class RetryPolicy:
    tries: int = 5
    first_wait: float = 0.5
    longest_wait: float = 20.0
    longest_limit: float = 120.0  # a longer limit ends the run, which can be continued later
    on_retry: Callable[[RetryNotice], None] = ignore_retry_notice
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = field(default=random.random)
    now: Callable[[], float] = time.time

    def backoff(self, attempt: int) -> float:
        """Half is fixed, half is random, so that parallel callers spread."""
        wait = min(self.longest_wait, self.first_wait * 2.0 ** (attempt - 1))
        return wait * (0.5 + 0.5 * self.jitter())


@dataclass(frozen=True)
class Accept:
    answer: ApiResponse


@dataclass(frozen=True)
class RetryLater:
    seconds: float
    why: str


@dataclass(frozen=True)
class CheckFirst:
    seconds: float
    why: str


@dataclass(frozen=True)
class GiveUp:
    problem: HubProblem


RetryDecision = Accept | RetryLater | CheckFirst | GiveUp


def decide_retry(call: RestCall, outcome: CallOutcome, attempt: int, policy: RetryPolicy) -> RetryDecision:
    """Decide; `attempt` counts from 1. A response that is neither a limit nor a server error is accepted."""
    if isinstance(outcome, ApiResponse):
        seconds = limit_seconds(outcome, policy.now())
        if seconds is not None:
            return _decide_at_limit(call, outcome, seconds, attempt, policy)
        if outcome.status < 500:
            return Accept(outcome)
    why = outcome.why if isinstance(outcome, NoResponse) else f"GitHub answered {outcome.status}"
    if attempt >= policy.tries:
        return GiveUp(_unreachable_error(call, why, attempt))
    seconds = policy.backoff(attempt)
    unknown = call.writes and (isinstance(outcome, ApiResponse) or outcome.arrived)
    return CheckFirst(seconds, why) if unknown else RetryLater(seconds, why)


def _decide_at_limit(
    call: RestCall, answer: ApiResponse, seconds: float, attempt: int, policy: RetryPolicy
) -> RetryDecision:
    if attempt >= policy.tries or seconds > policy.longest_limit:
        return GiveUp(rate_limit_error(call, answer, policy.now() + seconds))
    return RetryLater(max(seconds, policy.backoff(attempt)), classify_error(call, answer).what)


def limit_seconds(answer: ApiResponse, now: float) -> float | None:
    """Return how long to wait if the response is a rate limit; None otherwise."""
    if answer.status not in {403, 429}:
        return None
    after = _read_number(answer.headers, "retry-after")
    if after is not None:
        return after
    if answer.headers.get("x-ratelimit-remaining") == "0":
        reset = _read_number(answer.headers, "x-ratelimit-reset")
        return max(0.0, reset - now) + 1.0 if reset is not None else MINUTE
    secondary = "secondary rate limit" in answer.message.lower() or "abuse detection" in answer.message.lower()
    return MINUTE if secondary or answer.status == 429 else None


def _read_number(headers: Mapping[str, str], name: str) -> float | None:
    try:
        value = float(headers.get(name, ""))
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def rate_limit_error(call: RestCall, answer: ApiResponse, until: float) -> RateLimited:
    when = datetime.fromtimestamp(until, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return RateLimited(
        f"GitHub's rate limit is used up until {when}: {answer.message or answer.status}",
        where=str(call),
        remedy=f"Nothing is lost. Start the workflow again after {when}, or let its schedule do it.",
        until=until,
    )


def _unreachable_error(call: RestCall, why: str, attempt: int) -> HubUnreachable:
    return HubUnreachable(
        f"GitHub could not be reached in {attempt} tries; last error: {why}",
        where=str(call),
        remedy="Everything that was pushed is safe. Run it again later; see https://www.githubstatus.com.",
    )
