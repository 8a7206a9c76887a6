"""What is decided about an answer, or about none."""

from __future__ import annotations

import pytest

from prd2pr.errors import HubUnreachable, RateLimited
from prd2pr.forges.github.exchange import Answer, Call, Outcome, Silence, path
from prd2pr.forges.github.retry import Again, GiveUp, LookFirst, Patience, Take, judge, limit_seconds

READ, WRITE = Call("GET", "/x"), Call("POST", "/x")
CALM = Patience(jitter=lambda: 1.0, now=lambda: 1000.0)
SECONDARY = {"message": "You have exceeded a secondary rate limit."}


@pytest.mark.parametrize("status", [200, 201, 204, 301, 400, 401, 404, 409, 410, 422])
@pytest.mark.parametrize("call", [READ, WRITE])
def test_these_are_taken_as_they_are(call: Call, status: int):
    answer = Answer(status, {})
    assert judge(call, answer, 1, CALM) == Take(answer)


def test_a_refusal_for_want_of_permission_is_no_limit():
    answer = Answer(403, {"x-ratelimit-remaining": "712"}, {"message": "Resource not accessible by integration"})
    assert judge(WRITE, answer, 1, CALM) == Take(answer)


@pytest.mark.parametrize("outcome", [Answer(500, {}), Answer(502, {}), Answer(504, {}), Silence("cut", arrived=True)])
def test_a_read_is_repeated_and_before_a_write_is_looked(outcome: Outcome):
    assert isinstance(judge(READ, outcome, 1, CALM), Again)
    assert isinstance(judge(WRITE, outcome, 1, CALM), LookFirst)


def test_a_write_that_never_arrived_is_repeated():
    assert isinstance(judge(WRITE, Silence("refused", arrived=False), 1, CALM), Again)


def test_waits_double_up_to_a_bound_and_spread():
    patience = Patience(tries=20, jitter=lambda: 1.0)
    assert [patience.backoff(attempt) for attempt in (1, 2, 3, 7, 12)] == [0.5, 1.0, 2.0, 20.0, 20.0]
    assert Patience(jitter=lambda: 0.0).backoff(3) == 1.0


def test_the_last_try_gives_up():
    verdict = judge(READ, Answer(502, {}), CALM.tries, CALM)
    assert isinstance(verdict, GiveUp) and isinstance(verdict.problem, HubUnreachable)
    assert not isinstance(judge(READ, Answer(502, {}), CALM.tries - 1, CALM), GiveUp)


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
    assert limit_seconds(Answer(status, headers, body), 1000.0) == seconds


def test_a_limit_is_waited_for_where_it_is_short_even_by_a_write():
    verdict = judge(WRITE, Answer(403, {"retry-after": "30"}, SECONDARY), 1, CALM)
    assert isinstance(verdict, Again) and verdict.seconds == 30.0


@pytest.mark.parametrize(("seconds", "attempt"), [("121", 1), ("5", CALM.tries)])
def test_a_long_or_lasting_limit_gives_up_and_says_when(seconds: str, attempt: int):
    verdict = judge(READ, Answer(403, {"retry-after": seconds}, SECONDARY), attempt, CALM)
    assert isinstance(verdict, GiveUp) and isinstance(verdict.problem, RateLimited)
    assert verdict.problem.until == 1000.0 + float(seconds)
    assert "1970-01-01 00:" in verdict.problem.what


def test_addresses_keep_each_name_in_its_part():
    assert path("repos", "o", "a b/../c?d#e", 7) == "/repos/o/a%20b%2F..%2Fc%3Fd%23e/7"
    for bad in ("", ".", ".."):
        with pytest.raises(ValueError):
            path("repos", bad)
