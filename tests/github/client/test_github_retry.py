"""What a response, or none, means for a call."""

from __future__ import annotations

import pytest

from prd2pr.errors import HubUnreachable, RateLimited
from prd2pr.github.client.calls import RepositoryApi
from prd2pr.github.client.exchange import ApiOutcome, ApiResponse, NoResponse, RestCall, join_path
from prd2pr.github.client.retry import FailedCall, classify_outcome, limit_seconds
from prd2pr.retry import RetryPolicy

READ, WRITE = RestCall("GET", "/x"), RestCall("POST", "/x")
SECONDARY = {"message": "You have exceeded a secondary rate limit."}
NOW = 1000.0


class Answers:
    """Answers every call with the same outcome."""

    def __init__(self, outcome: ApiOutcome) -> None:
        self.slept: list[float] = []
        self.sent = 0
        self._outcome = outcome
        policy = RetryPolicy(sleep=self.slept.append, jitter=lambda: 1.0, now=lambda: NOW)
        self.api = RepositoryApi(self._send, "o/r", policy)

    def _send(self, _: RestCall) -> ApiOutcome:
        self.sent += 1
        return self._outcome


@pytest.mark.parametrize("status", [200, 201, 204, 301, 400, 401, 404, 409, 410, 422])
@pytest.mark.parametrize("call", [READ, WRITE])
def test_final_answers_are_accepted(call: RestCall, status: int):
    answer = ApiResponse(status, {})
    assert classify_outcome(call, answer, NOW) == answer


def test_a_missing_permission_is_not_a_rate_limit():
    answer = ApiResponse(403, {"x-ratelimit-remaining": "712"}, {"message": "Resource not accessible by integration"})
    assert classify_outcome(WRITE, answer, NOW) == answer


@pytest.mark.parametrize(
    "outcome", [ApiResponse(500, {}), ApiResponse(502, {}), ApiResponse(504, {}), NoResponse("cut", arrived=True)]
)
def test_a_read_is_retried_and_a_write_looks_first(outcome: ApiOutcome):
    read, write = (classify_outcome(call, outcome, NOW) for call in (READ, WRITE))
    assert isinstance(read, FailedCall) and not read.may_be_done
    assert isinstance(write, FailedCall) and write.may_be_done


def test_a_write_that_never_arrived_is_retried():
    failure = classify_outcome(WRITE, NoResponse("refused", arrived=False), NOW)
    assert isinstance(failure, FailedCall) and not failure.may_be_done


def test_the_last_attempt_gives_up():
    answers = Answers(ApiResponse(502, {}))
    with pytest.raises(HubUnreachable):
        answers.api.get("/x")
    assert answers.sent == 5 and answers.slept == [0.5, 1.0, 2.0, 4.0]


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
    failure = classify_outcome(WRITE, ApiResponse(403, {"retry-after": "30"}, SECONDARY), NOW)
    assert isinstance(failure, FailedCall) and failure.limit == 30.0 and not failure.may_be_done


@pytest.mark.parametrize(("seconds", "sent"), [("121", 1), ("5", 5)])
def test_a_long_or_lasting_limit_gives_up_and_says_when(seconds: str, sent: int):
    answers = Answers(ApiResponse(403, {"retry-after": seconds}, SECONDARY))
    with pytest.raises(RateLimited) as caught:
        answers.api.get("/x")
    assert answers.sent == sent and answers.slept == [5.0] * (sent - 1)
    assert caught.value.until == NOW + float(seconds)
    assert "1970-01-01 00:" in caught.value.what


def test_urls_keep_each_name_in_its_part():
    assert join_path("repos", "o", "a b/../c?d#e", 7) == "/repos/o/a%20b%2F..%2Fc%3Fd%23e/7"
    for bad in ("", ".", ".."):
        with pytest.raises(ValueError):
            join_path("repos", bad)
