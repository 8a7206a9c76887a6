from __future__ import annotations

import pytest

from prd2pr.agents.roles import ROLES
from prd2pr.domain.costs.estimate import (
    ROLES_OF_TESTED_STORY,
    ROLES_OF_UNTESTED_STORY,
    Price,
    compute_cost,
    describe_story_minutes,
    estimate_backlog,
    get_model_id,
    look_up_price,
)
from prd2pr.domain.costs.model_selection import ModelSelection
from prd2pr.domain.records import Backlog, Spend, Story
from prd2pr.views.plan import format_plan_estimate

CREW = ModelSelection("anthropic:small", "anthropic:large")
SMALL, LARGE = Price(input=1, output=10, cache_read=0.1), Price(input=5, output=50)
PRICES = {"small": SMALL, "large": LARGE}


def backlog(*stories: Story) -> Backlog:
    return Backlog(stories=stories)


def story(n: int, **facts: object) -> Story:
    return Story.model_validate({"id": f"x-{n}", "epic": "x-e1", "title": "t", "complexity": 3, **facts})


def test_cost_is_tokens_times_price() -> None:
    spend = Spend(input_tokens=1_000_000, cached_tokens=2_000_000, output_tokens=500_000)
    assert compute_cost(SMALL, spend) == pytest.approx(1 + 0.2 + 5)


def test_without_a_cache_price_cached_tokens_cost_as_input() -> None:
    assert compute_cost(LARGE, Spend(cached_tokens=1_000_000)) == 5


def test_more_and_harder_stories_cost_more() -> None:
    one = estimate_backlog(backlog(story(1)), PRICES, CREW)
    two = estimate_backlog(backlog(story(1), story(2)), PRICES, CREW)
    hard = estimate_backlog(backlog(story(1, complexity=9)), PRICES, CREW)
    docs = estimate_backlog(backlog(story(1, kind="docs")), PRICES, CREW)
    assert one.tokens_low < two.tokens_low
    assert one.tokens_low < hard.tokens_low
    assert docs.tokens_low < one.tokens_low
    for guess in (one, two, hard, docs):
        assert guess.tokens_low < guess.tokens_high
        assert 1 <= guess.minutes_low <= guess.minutes_high
        assert guess.usd_low is not None
        assert guess.usd_high is not None
        assert 0 < guess.usd_low < guess.usd_high
        assert guess.unpriced == ()


def test_the_strong_model_raises_the_high_end_only() -> None:
    dear = {"small": SMALL, "large": Price(input=50, output=500)}
    cheap, costly = estimate_backlog(backlog(story(1)), PRICES, CREW), estimate_backlog(backlog(story(1)), dear, CREW)
    assert cheap.usd_low == costly.usd_low
    assert cheap.usd_high is not None
    assert costly.usd_high is not None
    assert cheap.usd_high < costly.usd_high


def test_learned_values_are_used_in_the_estimate() -> None:
    plan = backlog(
        story(1, estimate_minutes=20, guessed_minutes=10),
        story(2, estimate_minutes=10, guessed_minutes=5.4),
        story(3, status="done", estimate_minutes=99, guessed_minutes=99),
    )
    guess = estimate_backlog(plan, PRICES, CREW, learnt="times 2.00, learnt from 3 stories")
    assert describe_story_minutes(guess) == "stories 30 min (15 times 2.00, learnt from 3 stories)"
    assert format_plan_estimate(guess).endswith(f"tokens · {describe_story_minutes(guess)}"), (
        "as the pull request has it"
    )
    unlearnt = estimate_backlog(backlog(story(1, estimate_minutes=20)), PRICES, CREW, learnt="no factor is known yet")
    assert (describe_story_minutes(unlearnt), unlearnt.learnt) == ("", "")


def test_finished_stories_cost_nothing() -> None:
    nothing = estimate_backlog(backlog(story(1, status="done"), story(2, status="skipped")), PRICES, CREW)
    assert (nothing.tokens_high, nothing.minutes_high, nothing.usd_high) == (0, 0, 0)


def test_unknown_price_is_reported_and_never_invented() -> None:
    unknown = estimate_backlog(backlog(story(1)), {}, CREW)
    assert (unknown.usd_low, unknown.usd_high, unknown.unpriced) == (None, None, ("small", "large"))
    assert unknown.tokens_low > 0
    half = estimate_backlog(backlog(story(1)), {"small": SMALL}, CREW)
    assert half.usd_low is not None
    assert (half.usd_high, half.unpriced) == (None, ("large",))


def test_a_recording_or_a_person_is_not_billed() -> None:
    free = estimate_backlog(backlog(story(1)), {}, ModelSelection("replay:loyalty.jsonl", "human"))
    assert (free.usd_low, free.usd_high, free.unpriced) == (0, 0, ())


def test_prices_are_looked_up_by_model_id_or_full_spec() -> None:
    assert get_model_id("anthropic:claude-x") == "claude-x"
    assert get_model_id("command:./worker --fast") == "command:./worker --fast"
    assert look_up_price({"openai:a": SMALL}, "openai:a") is SMALL
    assert look_up_price({"a": LARGE}, "openai:a") is LARGE
    assert look_up_price({}, "command:./worker") is None


def test_a_role_is_priced_and_named_by_its_own_model() -> None:
    usual = estimate_backlog(backlog(story(1)), PRICES, CREW)
    builder = estimate_backlog(
        backlog(story(1)), PRICES, ModelSelection("small", "large", {"builder": "anthropic:large"})
    )
    assert usual.models == ("small",)
    assert builder.models == ("small", "large")
    assert builder.usd_low is not None
    assert usual.usd_low is not None
    assert builder.usd_low > usual.usd_low
    unpriced = estimate_backlog(backlog(story(1)), PRICES, ModelSelection("small", "large", {"builder": "openai:own"}))
    assert (unpriced.usd_low, unpriced.unpriced) == (None, ("own",))


def test_model_given_on_the_command_line_is_used_for_all_roles() -> None:
    crew = ModelSelection("small", "large", {"builder": "openai:own"}, for_all="anthropic:large")
    assert {crew.select_model(role, strong=strong) for role in ROLES for strong in (True, False)} == {"anthropic:large"}
    assert estimate_backlog(backlog(story(1)), PRICES, crew).models == ("large",)


def test_story_waiting_to_be_dropped_costs_nothing() -> None:
    left = backlog(story(1), story(2)).model_copy(update={"dropping": ("x-2",)})
    assert estimate_backlog(left, PRICES, CREW) == estimate_backlog(backlog(story(1)), PRICES, CREW)


def test_estimated_roles_exist() -> None:
    assert {*ROLES_OF_TESTED_STORY, *ROLES_OF_UNTESTED_STORY, "planner"} <= set(ROLES)
