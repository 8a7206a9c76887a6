"""What to do with an answer, or with none: take it, ask again later, look first whether it was done, or give up.

A request that GitHub turned away at a limit was not carried out and may be sent again. One that got no answer, or an
error of the server, may have been carried out: a reading call is repeated, before a writing one somebody must look.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from prd2pr.errors import HubProblem, HubUnreachable, RateLimited
from prd2pr.forges.github.exchange import Answer, Call, Outcome, Silence
from prd2pr.forges.github.problems import recognise

MINUTE = 60.0


@dataclass(frozen=True)
class Retry:
    """News for whoever watches: try `attempt` of `of` failed, the next one is in `seconds`."""

    why: str
    seconds: float
    attempt: int
    of: int


def ignore_retry(_: Retry) -> None:
    """For callers that do not watch."""


@dataclass(frozen=True)
class Patience:
    tries: int = 5
    first_wait: float = 0.5
    longest_wait: float = 20.0
    longest_limit: float = 120.0  # a limit that lasts longer ends the run, which can be continued later
    on_retry: Callable[[Retry], None] = ignore_retry
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = field(default=random.random)
    now: Callable[[], float] = time.time

    def backoff(self, attempt: int) -> float:
        """Half of it is fixed, half is chance, so that parallel callers spread."""
        wait = min(self.longest_wait, self.first_wait * 2.0 ** (attempt - 1))
        return wait * (0.5 + 0.5 * self.jitter())


@dataclass(frozen=True)
class Take:
    answer: Answer


@dataclass(frozen=True)
class Again:
    seconds: float
    why: str


@dataclass(frozen=True)
class LookFirst:
    seconds: float
    why: str


@dataclass(frozen=True)
class GiveUp:
    problem: HubProblem


Verdict = Take | Again | LookFirst | GiveUp


def judge(call: Call, outcome: Outcome, attempt: int, patience: Patience) -> Verdict:
    """`attempt` counts from 1. An answer that is neither a limit nor a fault of the server is taken as it is."""
    if isinstance(outcome, Answer):
        seconds = limit_seconds(outcome, patience.now())
        if seconds is not None:
            return _at_limit(call, outcome, seconds, attempt, patience)
        if outcome.status < 500:
            return Take(outcome)
    why = outcome.why if isinstance(outcome, Silence) else f"GitHub answered {outcome.status}"
    if attempt >= patience.tries:
        return GiveUp(_gave_up(call, why, attempt))
    seconds = patience.backoff(attempt)
    unknown = call.writes and (isinstance(outcome, Answer) or outcome.arrived)
    return LookFirst(seconds, why) if unknown else Again(seconds, why)


def _at_limit(call: Call, answer: Answer, seconds: float, attempt: int, patience: Patience) -> Verdict:
    if attempt >= patience.tries or seconds > patience.longest_limit:
        return GiveUp(rate_limited(call, answer, patience.now() + seconds))
    return Again(max(seconds, patience.backoff(attempt)), recognise(call, answer).what)


def limit_seconds(answer: Answer, now: float) -> float | None:
    """How long to wait, where the answer is a rate limit; None where it is anything else."""
    if answer.status not in {403, 429}:
        return None
    after = _number(answer.headers, "retry-after")
    if after is not None:
        return after
    if answer.headers.get("x-ratelimit-remaining") == "0":
        reset = _number(answer.headers, "x-ratelimit-reset")
        return max(0.0, reset - now) + 1.0 if reset is not None else MINUTE
    secondary = "secondary rate limit" in answer.message.lower() or "abuse detection" in answer.message.lower()
    return MINUTE if secondary or answer.status == 429 else None


def _number(headers: Mapping[str, str], name: str) -> float | None:
    try:
        value = float(headers.get(name, ""))
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def rate_limited(call: Call, answer: Answer, until: float) -> RateLimited:
    when = datetime.fromtimestamp(until, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return RateLimited(
        f"GitHub's rate limit is used up until {when}: {answer.message or answer.status}",
        where=str(call),
        remedy=f"Nothing is lost. Start the workflow again after {when}, or let its schedule do it.",
        until=until,
    )


def _gave_up(call: Call, why: str, attempt: int) -> HubUnreachable:
    return HubUnreachable(
        f"GitHub could not be reached in {attempt} tries; the last one: {why}",
        where=str(call),
        remedy="All that was pushed is safe. Run it again later; https://www.githubstatus.com says how GitHub is.",
    )
