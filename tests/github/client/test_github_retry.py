"""Retry decisions for a response, or for none."""

from __future__ import annotations

import pytest

from prd2pr.errors import HubUnreachable, RateLimited
from prd2pr.github.client.exchange import ApiResponse, CallOutcome, NoResponse, RestCall, join_path
from prd2pr.github.client.retry import Accept, CheckFirst, GiveUp, RetryLater, RetryPolicy, decide_retry, limit_seconds

READ, WRITE = RestCall("GET", "/x"), RestCall("POST", "/x")
CALM = RetryPolicy(jitter=lambda: 1.0, now=lambda: 1000.0)
SECONDARY = {"message": "You have exceeded a secondary rate limit."}


@pytest.mark.parametrize("status", [200, 201, 204, 301, 400, 401, 404, 409, 410, 422])
@pytest.mark.parametrize("call", [READ, WRITE])
def test_final_answers_are_accepted(call: RestCall, status: int):
    answer = ApiResponse(status, {})
    assert decide_retry(call, answer, 1, CALM) == Accept(answer)


def test_a_missing_permission_is_not_a_rate_limit():
    answer = ApiResponse(403, {"x-ratelimit-remaining": "712"}, {"message": "Resource not accessible by integration"})
    assert decide_retry(WRITE, answer, 1, CALM) == Accept(answer)


@pytest.mark.parametrize(
    "outcome", [ApiResponse(500, {}), ApiResponse(502, {}), ApiResponse(504, {}), NoResponse("cut", arrived=True)]
)
def test_a_read_is_retried_and_a_write_looks_first(outcome: CallOutcome):
    assert isinstance(decide_retry(READ, outcome, 1, CALM), RetryLater)
    assert isinstance(decide_retry(WRITE, outcome, 1, CALM), CheckFirst)


def test_a_write_that_never_arrived_is_retried():
    assert isinstance(decide_retry(WRITE, NoResponse("refused", arrived=False), 1, CALM), RetryLater)


def test_waits_double_up_to_a_bound_with_jitter():
    patience = RetryPolicy(tries=20, jitter=lambda: 1.0)
    assert [patience.backoff(attempt) for attempt in (1, 2, 3, 7, 12)] == [0.5, 1.0, 2.0, 20.0, 20.0]
    assert RetryPolicy(jitter=lambda: 0.0).backoff(3) == 1.0


def test_the_last_attempt_gives_up():
    verdict = decide_retry(READ, ApiResponse(502, {}), CALM.tries, CALM)
    assert isinstance(verdict, GiveUp) and isinstance(verdict.problem, HubUnreachable)
    assert not isinstance(decide_retry(READ, ApiResponse(502, {}), CALM.tries - 1, CALM), GiveUp)


@pytest.mark.parametrize(
    ("status", "headers", "body", "seconds"),
    [
        (403, {"retry-after": "30"}, SECONDARY, 30.0),
        (429, {"retry-after": "0"}, SECONDARY, 0.0),
        (403, {}, SECONDARY, 60.0),
        (429, {}, None, 60.0),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1090"}, None, 91.0),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "10"}, None, 1.0),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon"}, None, 60.0),
        (403, {"x-ratelimit-remaining": "3"}, {"message": "Forbidden"}, None),
        (403, {"retry-after": "nan"}, {"message": "Forbidden"}, None),
        (502, {"retry-after": "30"}, None, None),
    ],
)
def test_how_long_a_limit_lasts(status: int, headers: dict[str, str], body: object, seconds: float | None):
    assert limit_seconds(ApiResponse(status, headers, body), 1000.0) == seconds


def test_a_short_limit_is_waited_for_even_by_a_write():
    verdict = decide_retry(WRITE, ApiResponse(403, {"retry-after": "30"}, SECONDARY), 1, CALM)
    assert isinstance(verdict, RetryLater) and verdict.seconds == 30.0


@pytest.mark.parametrize(("seconds", "attempt"), [("121", 1), ("5", CALM.tries)])
def test_a_long_or_lasting_limit_gives_up_and_says_when(seconds: str, attempt: int):
    verdict = decide_retry(READ, ApiResponse(403, {"retry-after": seconds}, SECONDARY), attempt, CALM)
    assert isinstance(verdict, GiveUp) and isinstance(verdict.problem, RateLimited)
    assert verdict.problem.until == 1000.0 + float(seconds)
    assert "1970-01-01 00:" in verdict.problem.what


def test_urls_keep_each_name_in_its_part():
    assert join_path("repos", "o", "a b/../c?d#e", 7) == "/repos/o/a%20b%2F..%2Fc%3Fd%23e/7"
    for bad in ("", ".", ".."):
        with pytest.raises(ValueError):
            join_path("repos", bad)
