"""The retry policy that all callers share."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from prd2pr.agents.models.retry import MODEL_RETRIES
from prd2pr.retry import RetryNotice, RetryPolicy, read_retry_after


@given(st.integers(1, 2000), st.floats(0, 1), st.none() | st.floats(0, 10_000))
def test_wait_is_bounded_and_never_shorter_than_requested(attempt: int, chance: float, asked: float | None) -> None:
    policy = RetryPolicy(
        tries=3000,
        first_wait=1.0,
        longest_wait=MODEL_RETRIES.longest_wait,
        longest_request=MODEL_RETRIES.longest_request,
        cuts_long_requests=True,
        jitter=lambda: chance,
    )
    wait = policy.wait(attempt, asked)
    shortest = 0.5 * min(policy.longest_wait, 2.0 ** min(attempt - 1, 30))
    assert wait is not None and shortest <= wait <= max(policy.longest_wait, policy.longest_request)
    assert wait >= min(asked or 0, policy.longest_request)


def test_waits_double_up_to_a_bound_with_jitter() -> None:
    policy = RetryPolicy(tries=20, jitter=lambda: 1.0)
    assert [policy.wait(attempt) for attempt in (1, 2, 3, 7, 12)] == [0.5, 1.0, 2.0, 20.0, 20.0]
    assert RetryPolicy(jitter=lambda: 0.0).wait(3) == 1.0


def test_it_gives_up_after_the_last_try_the_deadline_or_a_long_request() -> None:
    policy = RetryPolicy(tries=3, longest_request=10.0, deadline=60.0, jitter=lambda: 1.0)
    assert policy.wait(2) == 1.0 and policy.wait(3) is None
    assert policy.wait(1, elapsed=59.0) == 0.5 and policy.wait(1, elapsed=60.0) is None
    assert policy.wait(1, 10.0) == 10.0 and policy.wait(1, 10.5) is None


def test_a_pause_is_announced_and_slept() -> None:
    slept: list[float] = []
    notices: list[RetryNotice] = []
    policy = RetryPolicy(tries=2, sleep=slept.append, on_retry=notices.append, jitter=lambda: 1.0)
    assert policy.pause(1, "a 502", 7.0) and not policy.pause(2, "a 502")
    assert slept == [7.0] and notices == [RetryNotice("a 502", 7.0, 1, 2)]


def test_all_forms_of_retry_after_are_parsed() -> None:
    assert read_retry_after({"Retry-After": "7"}, 0) == 7
    assert read_retry_after({"retry-after": "0.5"}, 0) == 0.5
    assert read_retry_after({"retry-after-ms": "1500", "retry-after": "9"}, 0) == 1.5
    assert read_retry_after({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, 20) == 40
    assert read_retry_after({"retry-after": "Thu, 01 Jan 1970 00:01:00 -0000"}, 20) == 40
    assert read_retry_after({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, 100) == 0
    for nonsense in ("soon", "nan", "inf", "-3", ""):
        assert read_retry_after({"retry-after": nonsense}, 0) is None
    assert read_retry_after({}, 0) is None
