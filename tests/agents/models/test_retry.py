from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from prd2pr.agents.models.retry import RetryRule, read_retry_after


@given(st.integers(1, 40), st.floats(0, 1), st.none() | st.floats(0, 10_000))
def test_wait_is_bounded_and_never_shorter_than_requested(attempt: int, chance: float, asked: float | None) -> None:
    rule = RetryRule(jitter=lambda: chance)
    wait = rule.wait(attempt, asked)
    assert (
        0.5 * min(rule.longest_wait, 2.0 ** (attempt - 1)) <= wait <= max(rule.longest_wait, rule.longest_retry_after)
    )
    assert wait >= min(asked or 0, rule.longest_retry_after)


def test_all_forms_of_retry_after_are_parsed() -> None:
    assert read_retry_after({"retry-after": "7"}, 0) == 7
    assert read_retry_after({"retry-after": "0.5"}, 0) == 0.5
    assert read_retry_after({"retry-after-ms": "1500", "retry-after": "9"}, 0) == 1.5
    assert read_retry_after({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, 20) == 40
    assert read_retry_after({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, 100) == 0
    for nonsense in ("soon", "nan", "inf", "-3", ""):
        assert read_retry_after({"retry-after": nonsense}, 0) is None
    assert read_retry_after({}, 0) is None
