"""Decide whether a response is final, or a failure after which the call may be sent again.

A call that hit a rate limit was not executed and can be sent again. A call without a response, or with a server error,
may have been executed: reads are repeated, and writes are repeated only after a check.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from prd2pr.errors import HubProblem, HubUnreachable, RateLimited
from prd2pr.github.client.errors import classify_error
from prd2pr.github.client.exchange import ApiOutcome, ApiResponse, NoResponse, RestCall
from prd2pr.retry import parse_seconds, read_retry_after

MINUTE = 60.0


@dataclass(frozen=True)
class FailedCall:
    call: RestCall
    outcome: ApiOutcome
    limit: float | None = None  # seconds until the rate limit is reset

    @property
    def may_be_done(self) -> bool:
        """Whether GitHub may have executed a write."""
        arrived = isinstance(self.outcome, ApiResponse) or self.outcome.arrived
        return self.call.writes and arrived and self.limit is None

    @property
    def why(self) -> str:
        if isinstance(self.outcome, NoResponse):
            return self.outcome.why
        limited = self.limit is not None
        return classify_error(self.call, self.outcome).what if limited else f"GitHub answered {self.outcome.status}"

    def make_problem(self, attempt: int, now: float) -> HubProblem:
        """Return the error to raise after the last try."""
        if isinstance(self.outcome, ApiResponse) and self.limit is not None:
            return make_rate_limit_error(self.call, self.outcome, now + self.limit)
        return HubUnreachable(
            f"GitHub could not be reached in {attempt} tries; last error: {self.why}",
            where=str(self.call),
            remedy="Everything that was pushed is safe. Run it again later; see https://www.githubstatus.com.",
        )


def classify_outcome(call: RestCall, outcome: ApiOutcome, now: float) -> ApiResponse | FailedCall:
    """Return the response, or a `FailedCall` for a rate limit, a server error or a missing response."""
    if not isinstance(outcome, ApiResponse):
        return FailedCall(call, outcome)
    limit = limit_seconds(outcome, now)
    return outcome if limit is None and outcome.status < 500 else FailedCall(call, outcome, limit)


def limit_seconds(answer: ApiResponse, now: float) -> float | None:
    """Return how long to wait if the response reports a rate limit, otherwise None."""
    if answer.status not in {403, 429}:
        return None
    after = read_retry_after(answer.headers, now)
    if after is not None:
        return after
    if answer.headers.get("x-ratelimit-remaining") == "0":
        reset = parse_seconds(answer.headers.get("x-ratelimit-reset"))
        return max(0.0, reset - now) + 1.0 if reset is not None else MINUTE
    secondary = "secondary rate limit" in answer.message.lower() or "abuse detection" in answer.message.lower()
    return MINUTE if secondary or answer.status == 429 else None


def make_rate_limit_error(call: RestCall, answer: ApiResponse, until: float) -> RateLimited:
    when = datetime.fromtimestamp(until, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return RateLimited(
        f"GitHub's rate limit is used up until {when}: {answer.message or answer.status}",
        where=str(call),
        remedy=f"Nothing is lost. Start the workflow again after {when}, or let its schedule do it.",
        until=until,
    )
