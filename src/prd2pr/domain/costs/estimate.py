"""Estimate a backlog: tokens, minutes and, if prices are known, dollars.

The rule is deliberately simple: calls per story × tokens per call, with output growing with the story's complexity. At
the low end every phase passes at the first attempt; at the high end attempts are repeated (`HIGH_FACTOR`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from prd2pr.domain.costs.model_selection import ModelSelection
from prd2pr.domain.costs.profiles import STRONG_ROLES, Profile, uses_model
from prd2pr.domain.records import SETTLED, UNTESTED_KINDS, Backlog, Record, Spend, Story
from prd2pr.domain.wording import clean_line, clip

PER_MILLION = 1_000_000

# One model call each, if the profile uses a model for the role. Integration needs no model.
PLANNER_ROLE = "planner"
ROLES_OF_PRD = ("why", "research", "documentation", "security", "estimator", "retrospective")
ROLES_OF_TESTED_STORY = ("architect", "tester", "builder", "refactorer")
ROLES_OF_FUSED_STORY = ("architect", "fused", "refactorer")
PROGRAMMER_ROLE = "programmer"
STORIES_PER_ANSWER = 4  # how many stories one answer of a conversation delivers on average
# The design, then the change itself, without tests.
ROLES_OF_UNTESTED_STORY = ("architect", "builder")
# These roles write prose rather than code: a verdict with reasons, or a list of risks.
STORY_REVIEW_ROLES = ("review",)
PROSE_ROLES = frozenset({*ROLES_OF_PRD, *STORY_REVIEW_ROLES})
PROSE_OUTPUT_TOKENS = 600
# Planning reads the PRD once and writes a few hundred tokens for each story.
PLAN_INPUT_TOKENS = 4_000
PLAN_OUTPUT_TOKENS_PER_STORY = 300
# System prompt (700), repository map (1,500), PRD and story (1,500), the task (600), the story's own files (700).
INPUT_TOKENS_PER_CALL = 5_000
# Share of a call's input that is already in the provider's cache: system prompt, map, PRD.
CACHED_SHARE = 0.6
# A phase writes about 20 lines at complexity 1 and 120 lines at complexity 10, at about ten tokens per line.
OUTPUT_TOKENS_BASE = 100
OUTPUT_TOKENS_PER_COMPLEXITY = 110
# A refused attempt or a few turns with tools repeat the whole call: 2.5 means 1.5 repetitions per phase.
HIGH_FACTOR = 2.5
# At the high end, one call in eight is a last attempt, which uses the strong model.
STRONG_SHARE = 0.125
# A model writes about 60 tokens per second; each phase adds two clean test runs of a few seconds.
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
        description="USD per million tokens written to the cache. Defaults to `input`.",
    )
    cache_read: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="USD per million tokens read from the cache. Defaults to `input`.",
    )


# A person or a recording is not billed by tokens.
FREE_PRICE = Price(input=0, output=0, cache_write=0, cache_read=0)
FREE_MODELS = ("human", "replay:")


class RoleEstimate(Record):
    role: str
    calls: int  # at the low end
    tokens_low: int
    tokens_high: int
    usd_low: float | None  # None if the price of the model is unknown


class Estimate(Record):
    tokens_low: int
    tokens_high: int
    minutes_low: int
    minutes_high: int
    usd_low: float | None
    usd_high: float | None
    models: tuple[str, ...] = ()  # the models of all attempts except the last
    unpriced: tuple[str, ...] = ()  # models without a known price; if there are any, dollars are not estimated
    roles: tuple[RoleEstimate, ...] = ()  # in the order of their work
    # Estimated minutes before and after applying the factor learned from earlier stories; 0 without a factor.
    stories_guessed: int = 0
    stories_minutes: int = 0
    learnt: str = ""  # the factor and the number of stories that it was learned from


def estimate_backlog(
    backlog: Backlog,
    prices: Mapping[str, Price],
    models: ModelSelection,
    *,
    profile: Profile = "standard",
    fused: bool = False,
    converses: bool = False,
    learnt: str = "",
) -> Estimate:
    """Estimate the open stories.

    With `fused`, which the profile `quick` implies, one call writes a story's tests and code. With `converses`, one
    call writes those of several stories. `learnt` describes the correction factor.
    """
    stories = list_open_stories(backlog)
    was_learnt = any(story.guessed_minutes is not None for story in stories)
    profile_roles = _ProfileRoles(profile, fused=fused or profile == "quick", converses=converses)
    low = _estimate_by_role(stories, profile_roles)
    high = {role: _scale(spend, HIGH_FACTOR) for role, spend in low.items()}
    working = {role: models.select_model(role, strong=role in STRONG_ROLES) for role in low}
    last = {role: models.select_model(role, strong=True) for role in low}
    phases = sum(len(profile_roles.list_story_roles(story)) for story in stories)
    all_low, all_high = sum(low.values(), Spend()), sum(high.values(), Spend())
    usd_low, usd_last = _sum_cost(prices, working, low), _sum_cost(prices, last, high)
    usd_high = _sum_cost(prices, working, high)
    return Estimate(
        tokens_low=all_low.tokens,
        tokens_high=all_high.tokens,
        minutes_low=_estimate_minutes(all_low, phases),
        minutes_high=_estimate_minutes(all_high, phases * HIGH_FACTOR),
        usd_low=None if usd_low is None else round(usd_low, 2),
        usd_high=None
        if usd_high is None or usd_last is None
        else round(usd_high * (1 - STRONG_SHARE) + usd_last * STRONG_SHARE, 2),
        models=_unique_model_ids(working.values()),
        unpriced=_unique_model_ids(
            spec for spec in (*working.values(), *last.values()) if look_up_price(prices, spec) is None
        ),
        roles=tuple(
            RoleEstimate(
                role=role,
                calls=spend.calls,
                tokens_low=spend.tokens,
                tokens_high=high[role].tokens,
                usd_low=None
                if (price := look_up_price(prices, working[role])) is None
                else round(compute_cost(price, spend), 4),
            )
            for role, spend in low.items()
        ),
        stories_guessed=round(sum(map(get_guessed_minutes, stories))) if was_learnt else 0,
        stories_minutes=sum(story.estimate_minutes for story in stories) if was_learnt else 0,
        learnt=learnt if was_learnt else "",
    )


def list_open_stories(backlog: Backlog) -> tuple[Story, ...]:
    """Return the stories that are neither settled nor about to be dropped."""
    return tuple(s for s in backlog.stories if s.status not in SETTLED and s.id not in backlog.dropping)


def get_guessed_minutes(story: Story) -> float:
    """Return the estimated minutes before the learned factor was applied."""
    return story.estimate_minutes if story.guessed_minutes is None else story.guessed_minutes


def describe_story_minutes(guess: Estimate) -> str:
    """Describe the stories' estimated minutes if a factor was learned; otherwise return an empty string.

    For example "stories 30 min (15 times 2.00, learned from 3 stories)".
    """
    if not guess.stories_minutes:
        return ""
    how = clip(clean_line(guess.learnt), 80) or "before the correction factor"
    return f"stories {guess.stories_minutes} min ({guess.stories_guessed} {how})"


def compute_cost(price: Price, spend: Spend) -> float:
    """Return the cost of the tokens in dollars. Tokens written to the cache are charged as input."""
    read = price.input if price.cache_read is None else price.cache_read
    dollars = spend.input_tokens * price.input + spend.cached_tokens * read + spend.output_tokens * price.output
    return dollars / PER_MILLION


def get_model_id(spec: str) -> str:
    """Return `claude-x` for `anthropic:claude-x`, the form used in `prices`. The path of a transcript is left out."""
    provider, colon, name = spec.partition(":")
    if provider == "replay":
        return f"{provider}:{name.rpartition('/')[2]}"
    return name if colon and provider in ("anthropic", "openai") else spec


def look_up_price(prices: Mapping[str, Price], spec: str) -> Price | None:
    if spec.startswith(FREE_MODELS):
        return FREE_PRICE
    return prices.get(spec) or prices.get(get_model_id(spec))


def _unique_model_ids(specs: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(get_model_id(spec) for spec in specs))


def _sum_cost(prices: Mapping[str, Price], models: Mapping[str, str], spends: Mapping[str, Spend]) -> float | None:
    found = {role: look_up_price(prices, spec) for role, spec in models.items()}
    known = {role: price for role, price in found.items() if price is not None}
    return sum(compute_cost(known[role], spend) for role, spend in spends.items()) if len(known) == len(found) else None


@dataclass(frozen=True)
class _ProfileRoles:
    """The roles that call a model in a profile."""

    profile: Profile
    fused: bool
    converses: bool

    @property
    def prd_roles(self) -> tuple[str, ...]:
        return tuple(role for role in ROLES_OF_PRD if uses_model(role, self.profile))

    def list_story_roles(self, story: Story) -> tuple[str, ...]:
        if self.converses:
            return (PROGRAMMER_ROLE,)
        tested = ROLES_OF_FUSED_STORY if self.fused else ROLES_OF_TESTED_STORY
        roles = ROLES_OF_UNTESTED_STORY if story.kind in UNTESTED_KINDS else (*tested, *STORY_REVIEW_ROLES)
        return tuple(role for role in roles if uses_model(role, self.profile))


def _estimate_by_role(stories: Sequence[Story], profile_roles: _ProfileRoles) -> dict[str, Spend]:
    """Estimate the spending of each role, in the order of work: planning first, then the roles of all stories."""
    if not stories:
        return {}
    written = PLAN_OUTPUT_TOKENS_PER_STORY * len(stories)
    spends = {
        PLANNER_ROLE: Spend(calls=1, input_tokens=PLAN_INPUT_TOKENS, output_tokens=written),
        **{role: _estimate_prose_call() for role in profile_roles.prd_roles},
    }
    if profile_roles.converses:
        return {**spends, PROGRAMMER_ROLE: _estimate_conversation(stories)}
    for story in stories:
        for role in profile_roles.list_story_roles(story):
            spends[role] = spends.get(role, Spend()) + _estimate_call(story, role)
    return spends


def _estimate_prose_call() -> Spend:
    return Spend(calls=1, input_tokens=PLAN_INPUT_TOKENS, output_tokens=PROSE_OUTPUT_TOKENS)


def _estimate_call(story: Story, role: str) -> Spend:
    cached = int(INPUT_TOKENS_PER_CALL * CACHED_SHARE)
    written = OUTPUT_TOKENS_BASE + OUTPUT_TOKENS_PER_COMPLEXITY * story.complexity
    output = PROSE_OUTPUT_TOKENS if role in PROSE_ROLES else written
    output = estimate_written_tokens(story) if role == "fused" else output
    return Spend(calls=1, input_tokens=INPUT_TOKENS_PER_CALL - cached, cached_tokens=cached, output_tokens=output)


def _estimate_conversation(stories: Sequence[Story]) -> Spend:
    """Estimate a conversation whose answers deliver several stories each.

    All but the first answer read the preceding text from the cache.
    """
    calls = -(-len(stories) // STORIES_PER_ANSWER)
    return Spend(
        calls=calls,
        input_tokens=calls * INPUT_TOKENS_PER_CALL,
        cached_tokens=sum(range(calls)) * INPUT_TOKENS_PER_CALL,
        output_tokens=sum(map(estimate_written_tokens, stories)),
    )


def estimate_written_tokens(story: Story) -> int:
    """Return the estimated output tokens of a story's tests and code in one answer."""
    return 2 * (OUTPUT_TOKENS_BASE + OUTPUT_TOKENS_PER_COMPLEXITY * story.complexity)


def _scale(spend: Spend, factor: float) -> Spend:
    return Spend(
        calls=round(spend.calls * factor),
        input_tokens=round(spend.input_tokens * factor),
        cached_tokens=round(spend.cached_tokens * factor),
        output_tokens=round(spend.output_tokens * factor),
    )


def _estimate_minutes(spend: Spend, phases: float) -> int:
    minutes = spend.output_tokens / OUTPUT_TOKENS_PER_MINUTE + phases * MINUTES_PER_PHASE_RUNS
    return max(1, round(minutes)) if phases else 0
