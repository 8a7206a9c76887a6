"""What a backlog will probably take: tokens, minutes and, where prices are known, dollars.

The rule is simple on purpose: calls per story × tokens per call, output growing with the story's complexity; the low
end is "every phase at the first attempt", the high end "half of the work done again". Each constant says why it is so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from pydantic import Field

from prd2pr.core.records import SETTLED, UNTESTED_KINDS, Backlog, Record, Spend, Story

PER_MILLION = 1_000_000

# design, red, green, refactor: one model call each. Integration is done by code.
CALLS_PER_TESTED_STORY = 4
# design, then the change itself: no tests are asked for.
CALLS_PER_UNTESTED_STORY = 2
# Planning reads the PRD once and writes the stories once; each story takes a few hundred tokens of the answer.
PLAN_INPUT_TOKENS = 4_000
PLAN_OUTPUT_TOKENS_PER_STORY = 300
# System prompt (700), repository map (1,500), PRD and story (1,500), the task (600), the story's own files (700).
INPUT_TOKENS_PER_CALL = 5_000
# Of a call's input, what earlier calls of the same run have already put into the provider's cache: system, map, PRD.
CACHED_SHARE = 0.6
# A phase writes a file of some 20 lines at complexity 1 and 120 at complexity 10, at about ten tokens a line.
OUTPUT_TOKENS_BASE = 100
OUTPUT_TOKENS_PER_COMPLEXITY = 110
# A refused attempt, or a few turns with tools, repeats the whole call: 2.5 is one repetition and a half per phase.
HIGH_FACTOR = 2.5
# The share of calls that are the last, stronger attempt when things go badly: one phase in eight.
STRONG_SHARE = 0.125
# A model writes about 60 tokens a second; each phase adds two clean test runs of some seconds.
OUTPUT_TOKENS_PER_MINUTE = 3_600
MINUTES_PER_PHASE_RUNS = 0.2


class Price(Record):
    """USD per million tokens, as the provider publishes it."""

    input: float = Field(ge=0, allow_inf_nan=False, description="USD per million input tokens.")
    output: float = Field(ge=0, allow_inf_nan=False, description="USD per million output tokens.")
    cache_write: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="USD per million tokens written to the cache; else as `input`.",
    )
    cache_read: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="USD per million tokens read from the cache; else as `input`.",
    )


# A person or a recording is not billed by the token.
FREE = Price(input=0, output=0, cache_write=0, cache_read=0)
UNBILLED = ("human", "replay:")


class ModelTiers(Protocol):
    """`models:` of the config: who does the work, and who takes the last attempt."""

    @property
    def default(self) -> str: ...
    @property
    def strong(self) -> str: ...


class Estimate(Record):
    tokens_low: int
    tokens_high: int
    minutes_low: int
    minutes_high: int
    usd_low: float | None
    usd_high: float | None
    unpriced: tuple[str, ...] = ()  # models whose price is not known: dollars are then not guessed


def estimate(backlog: Backlog, prices: Mapping[str, Price], models: ModelTiers) -> Estimate:
    """For the stories that are still to be done."""
    stories = [story for story in backlog.stories if story.status not in SETTLED]
    low = sum((_story_spend(story) for story in stories), start=_plan_spend(len(stories)))
    high = _scaled(low, HIGH_FACTOR)
    default, strong = price_of(prices, models.default), price_of(prices, models.strong)
    unpriced = _unpriced({models.default: default, models.strong: strong})
    phases = sum(_calls(story) for story in stories)
    return Estimate(
        tokens_low=low.tokens,
        tokens_high=high.tokens,
        minutes_low=_minutes(low, phases),
        minutes_high=_minutes(high, phases * HIGH_FACTOR),
        usd_low=None if default is None else round(cost(default, low), 2),
        usd_high=None if default is None or strong is None else round(_high_cost(default, strong, high), 2),
        unpriced=unpriced,
    )


def cost(price: Price, spend: Spend) -> float:
    """Dollars for counted tokens. What was written to the cache stands among the input and is charged as such."""
    read = price.input if price.cache_read is None else price.cache_read
    dollars = spend.input_tokens * price.input + spend.cached_tokens * read + spend.output_tokens * price.output
    return dollars / PER_MILLION


def model_id(spec: str) -> str:
    """`anthropic:claude-x` → `claude-x`: how models are named in `prices`."""
    provider, colon, name = spec.partition(":")
    return name if colon and provider in ("anthropic", "openai") else spec


def price_of(prices: Mapping[str, Price], spec: str) -> Price | None:
    if spec.startswith(UNBILLED):
        return FREE
    return prices.get(spec) or prices.get(model_id(spec))


def _unpriced(found: Mapping[str, Price | None]) -> tuple[str, ...]:
    return tuple(model_id(spec) for spec, price in found.items() if price is None)


def _calls(story: Story) -> int:
    return CALLS_PER_UNTESTED_STORY if story.kind in UNTESTED_KINDS else CALLS_PER_TESTED_STORY


def _story_spend(story: Story) -> Spend:
    calls = _calls(story)
    cached = int(INPUT_TOKENS_PER_CALL * CACHED_SHARE)
    output = OUTPUT_TOKENS_BASE + OUTPUT_TOKENS_PER_COMPLEXITY * story.complexity
    return Spend(
        calls=calls,
        input_tokens=calls * (INPUT_TOKENS_PER_CALL - cached),
        cached_tokens=calls * cached,
        output_tokens=calls * output,
    )


def _plan_spend(stories: int) -> Spend:
    if not stories:
        return Spend()
    return Spend(calls=1, input_tokens=PLAN_INPUT_TOKENS, output_tokens=PLAN_OUTPUT_TOKENS_PER_STORY * stories)


def _scaled(spend: Spend, factor: float) -> Spend:
    return Spend(
        calls=round(spend.calls * factor),
        input_tokens=round(spend.input_tokens * factor),
        cached_tokens=round(spend.cached_tokens * factor),
        output_tokens=round(spend.output_tokens * factor),
    )


def _high_cost(default: Price, strong: Price, high: Spend) -> float:
    return cost(default, high) * (1 - STRONG_SHARE) + cost(strong, high) * STRONG_SHARE


def _minutes(spend: Spend, phases: float) -> int:
    minutes = spend.output_tokens / OUTPUT_TOKENS_PER_MINUTE + phases * MINUTES_PER_PHASE_RUNS
    return max(1, round(minutes)) if phases else 0
