"""Scripted faults happen where and as often as they are scripted."""

from __future__ import annotations

import time
from typing import Any

import pytest

from contract.fake_requests import call_api
from contract.tour import R
from fakes.github import FakeGitHub
from fakes.github.faults import (
    Broken,
    BrokenAfter,
    Calls,
    DropAfter,
    DropBefore,
    Expired,
    Fault,
    PrimaryLimit,
    Refused,
    SecondaryLimit,
    Slow,
    Stale,
)  # fmt: skip
from fakes.github.on_issues import open_issue
from fakes.github.wire import Dropped

# --- faults -----------------------------------------------------------------------------------------------------------

COMMENTS = "POST */issues/*/comments"


@pytest.fixture
def talk(fake: FakeGitHub) -> Any:
    """Posts a comment, and returns the answer."""
    open_issue(fake, fake.repo("octo/calc"), "ada", "An issue")
    token = fake.actions_token("octo/calc")
    return lambda: call_api(fake, "POST", f"{R}/issues/1/comments", {"body": "x"}, token=token)


@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        (Broken(503), 503, "Server Error"),
        (SecondaryLimit(7), 403, "secondary rate limit"),
        (SecondaryLimit(7, 429), 429, "secondary rate limit"),
        (PrimaryLimit(30), 403, "API rate limit exceeded"),
        (Expired(), 401, "Bad credentials"),
        (Refused(410, "Gone"), 410, "Gone"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_fault_replaces_the_call_once(fake: FakeGitHub, talk: Any, fault: Fault, status: int, words: str) -> None:
    scripted = fake.faults.add(fault, COMMENTS)
    outcome = talk()
    assert outcome.status == status and words in outcome.value["message"]
    assert scripted.met == 1 and fake.faults.unmet == []
    assert fake.repo("octo/calc").comments == {}
    if isinstance(fault, SecondaryLimit):
        assert outcome.headers["retry-after"] == "7"
    if isinstance(fault, PrimaryLimit):
        assert outcome.headers["x-ratelimit-remaining"] == "0"
        assert 29 <= int(outcome.headers["x-ratelimit-reset"]) - time.time() <= 31
    assert talk().status == 201


def test_a_dropped_call_took_effect_or_not(fake: FakeGitHub, talk: Any) -> None:
    fake.faults.add(DropBefore(), COMMENTS)
    with pytest.raises(Dropped):
        talk()
    assert len(fake.repo("octo/calc").comments) == 0
    fake.faults.add(DropAfter(), COMMENTS)
    with pytest.raises(Dropped):
        talk()
    assert len(fake.repo("octo/calc").comments) == 1
    fake.faults.add(BrokenAfter(), COMMENTS)
    assert talk().status == 502
    assert len(fake.repo("octo/calc").comments) == 2
    assert [call.status for call in fake.calls] == [0, 0, 502]


def test_a_fault_for_the_second_and_third_of_some_calls(fake: FakeGitHub, talk: Any) -> None:
    fake.faults.add(Broken(), COMMENTS, skip=1, times=2)
    assert call_api(fake, "GET", R).status == 200
    assert [talk().status for _ in range(4)] == [201, 502, 502, 201]


def test_a_stale_read_shows_an_earlier_state(fake: FakeGitHub, talk: Any) -> None:
    talk()
    talk()
    fake.faults.add(Stale(1), "GET */comments")
    assert len(call_api(fake, "GET", f"{R}/issues/1/comments").value) == 1
    fake.faults.add(Stale(2), "GET */comments")
    assert len(call_api(fake, "GET", f"{R}/issues/1/comments").value) == 0
    assert len(call_api(fake, "GET", f"{R}/issues/1/comments").value) == 2


def test_a_slow_call_and_a_callback(fake: FakeGitHub, talk: Any) -> None:
    seen: list[int] = []

    def count() -> None:
        seen.append(len(fake.repo("octo/calc").comments))

    fake.faults.add(Slow(0.05), COMMENTS)
    fake.faults.add(Calls(before=count, after=count), COMMENTS)
    started = time.monotonic()
    talk()
    assert time.monotonic() - started >= 0.05
    assert seen == [0, 1]


def test_a_fault_that_never_happened_is_listed(fake: FakeGitHub, talk: Any) -> None:
    fake.faults.add(Broken(), "GET */nothing")
    talk()
    assert [each.pattern for each in fake.faults.unmet] == ["GET */nothing"]


def test_limits_of_requests_and_of_content(fake: FakeGitHub, talk: Any) -> None:
    fake.limits.content_per_minute = 2
    assert [talk().status for _ in range(3)] == [201, 201, 403]
    fake.skip(61)
    assert talk().status == 201
    token = fake.actions_token("octo/calc")
    fake.state.tokens[token].limit = 1
    assert call_api(fake, "GET", R, token=token).headers["x-ratelimit-remaining"] == "0"
    assert "API rate limit exceeded" in call_api(fake, "GET", R, token=token).value["message"]
    assert call_api(fake, "GET", "/rate_limit", token=token).value["rate"]["remaining"] == 0
    fake.skip(3601)
    assert call_api(fake, "GET", R, token=token).status == 200
