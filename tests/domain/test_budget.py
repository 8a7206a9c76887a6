from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prd2pr.domain.costs.budget import (
    PRICE_REMEDY,
    Budget,
    BudgetStop,
    CallEstimate,
    UsageLimits,
    check_budget,
    format_amount,
)
from prd2pr.domain.records import Spend
from prd2pr.views.pull_request.next_step import format_limit_remedy

CALL = CallEstimate("claude-sonnet-5-5", tokens=3_000, usd=0.05)


def spent(usd: float | None, tokens: int = 0) -> Spend:
    return Spend(calls=1, input_tokens=tokens, usd=usd)


def stopped(budget: Budget, now: float = 0.0, call: CallEstimate = CALL) -> BudgetStop:
    stop = check_budget(budget, now, call)
    assert stop is not None
    return stop


def test_no_limit_never_stops() -> None:
    budget = Budget(UsageLimits(), spent(900.0, 10**9), spent(None), spent(None))
    assert check_budget(budget, 10**9, CallEstimate("unpriced", usd=None)) is None


@pytest.mark.parametrize(
    ("limits", "limit"),
    [
        (UsageLimits(usd_per_run=1.0), "budget.usd_per_run"),
        (UsageLimits(usd_per_story=2.0), "budget.usd_per_story"),
        (UsageLimits(usd_per_prd=3.0), "budget.usd_per_prd"),
        (UsageLimits(tokens_per_run=10_000), "budget.tokens_per_run"),
        (UsageLimits(tokens_per_story=20_000), "budget.tokens_per_story"),
        (UsageLimits(tokens_per_prd=30_000), "budget.tokens_per_prd"),
    ],
)
def test_each_limit_checks_its_own_spending(limits: UsageLimits, limit: str) -> None:
    at_limit = Budget(limits, spent(1.0, 10_000), spent(2.0, 20_000), spent(3.0, 30_000))
    stop = stopped(at_limit)
    assert stop.limit == limit
    assert stop.used == stop.allowed
    assert limit in stop.remedy
    assert "prd2pr run" in stop.remedy
    below = Budget(limits, spent(0.9, 6_000), spent(1.9, 16_000), spent(2.9, 26_000))
    assert check_budget(below, 0, CALL) is None


def test_call_that_would_exceed_the_limit_is_not_made() -> None:
    stop = stopped(Budget(UsageLimits(usd_per_run=5.0), spent_run=spent(4.97)))
    assert stop.what == "the budget of this run is used up: $4.97 of $5.00, and the next call would take about $0.05."
    assert check_budget(Budget(UsageLimits(usd_per_run=5.0), spent_run=spent(4.95)), 0, CALL) is None


def test_zero_limit_stops_everything() -> None:
    free = CallEstimate("replay of x")
    assert stopped(Budget(UsageLimits(usd_per_run=0.0)), call=free).allowed == 0
    assert stopped(Budget(UsageLimits(tokens_per_story=0)), call=free).allowed == 0


@pytest.mark.parametrize(
    ("run", "call", "culprit"),
    [
        (spent(0.0), CallEstimate("claude-x", usd=None), "claude-x has no known price"),
        (spent(None, 62_000), CALL, "an earlier call had no known price"),
    ],
)
def test_unknown_price_stops_the_work_and_asks_for_it(run: Spend, call: CallEstimate, culprit: str) -> None:
    stop = stopped(Budget(UsageLimits(usd_per_run=5.0), spent_run=run), call=call)
    assert stop.limit == "budget.usd_per_run"
    assert culprit in stop.what
    assert f"prices: {{{call.model}: " in stop.remedy
    assert check_budget(Budget(UsageLimits(tokens_per_run=10**6), spent_run=run), 0, call) is None


def test_a_limit_in_tokens_stops_if_calls_report_none() -> None:
    """Otherwise a program without `usage` would never reach it."""
    limits = UsageLimits(tokens_per_prd=30_000)
    stop = stopped(Budget(limits, spent_prd=Spend(calls=2, usd=None)), call=CallEstimate("command:x", usd=0.0))
    assert (stop.limit, stop.allowed) == ("budget.tokens_per_prd", 30_000)
    assert '"usage"' in stop.remedy
    assert check_budget(Budget(limits, spent_prd=Spend(calls=1, usd=0.0)), 0, CALL) is None, "a person"
    assert check_budget(Budget(limits, spent_prd=Spend()), 0, CALL) is None, "the first call"


def test_the_narrowest_limit_is_named() -> None:
    everything = Budget(UsageLimits(usd_per_run=1, usd_per_story=1, usd_per_prd=1), spent(2), spent(2), spent(2))
    assert stopped(everything).limit == "budget.usd_per_story"


def test_time_is_counted_from_the_start_of_the_run() -> None:
    budget = Budget(UsageLimits(minutes_per_run=30), started=1_000.0)
    assert check_budget(budget, 1_000.0 + 29 * 60, CALL) is None
    stop = stopped(budget, 1_000.0 + 30 * 60)
    assert (stop.limit, stop.unit, stop.used) == ("budget.minutes_per_run", "minutes", 30.0)
    assert "30 min of 30 min" in stop.what


@given(st.lists(st.floats(0, 1), max_size=30), st.floats(0.01, 5))
def test_spending_never_exceeds_the_limit_if_estimates_hold(calls: list[float], allowed: float) -> None:
    total = Spend()
    for usd in calls:
        if (
            check_budget(Budget(UsageLimits(usd_per_run=allowed), spent_run=total), 0, CallEstimate("m", usd=usd))
            is None
        ):
            total = total + Spend(calls=1, usd=usd)
    assert (total.usd or 0) <= allowed + 1e-4  # each sum is rounded to a millionth


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, "usd", "$0.00"),
        (0.0042, "usd", "$0.0042"),
        (0.84, "usd", "$0.84"),
        (62_400, "tokens", "62k tokens"),
        (900, "tokens", "900 tokens"),
        (14.2, "minutes", "14 min"),
        (0.5, "minutes", "30 s"),
    ],
)
def test_amounts_are_readable(value: float, unit: str, text: str) -> None:
    assert format_amount(value, unit) == text  # type: ignore[arg-type] # a parametrised literal


@pytest.mark.parametrize(
    ("limits", "limit", "scope"),
    [
        (UsageLimits(minutes_per_story=10), "budget.minutes_per_story", "this story"),
        (UsageLimits(minutes_per_prd=20), "budget.minutes_per_prd", "this PRD"),
        (UsageLimits(minutes_per_run=30), "budget.minutes_per_run", "this run"),
    ],
)
def test_each_time_limit_checks_its_own_time(limits: UsageLimits, limit: str, scope: str) -> None:
    stop = stopped(Budget(limits, started=100, seconds_story=600, seconds_prd=1200), now=100 + 1800)
    assert (stop.limit, stop.unit, stop.used) == (limit, "minutes", stop.allowed)
    assert stop.what.startswith(f"the time of {scope} is used up")
    assert check_budget(Budget(limits, started=100, seconds_story=599, seconds_prd=1199), 100 + 1799, CALL) is None


def test_missing_price_does_not_suggest_raising_a_limit():
    assert (
        format_limit_remedy(f"{PRICE_REMEDY} `prices:` in .prd2pr.yml.") == f"{PRICE_REMEDY} `prices:` in .prd2pr.yml"
    )
    assert format_limit_remedy("Raise budget.usd_per_run.").startswith("Raise the limit")
