"""Estimates of a backlog: tokens, minutes and, if prices are known, dollars.

The rule is simple on purpose: calls per story × tokens per call, with output growing with the story's complexity. The
low end is "every phase passes at the first attempt", the high end "half of the work is repeated".
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
PLAN_PASS_ROLES = ("decomposer_tasks", "decomposer_criteria")  # used instead of the planner for a plan in passes
ROLES_OF_TESTED_STORY = ("architect", "tester", "builder", "refactorer")
ROLES_OF_FUSED_STORY = ("architect", "fused", "refactorer")
# The design, then the change itself: no tests.
ROLES_OF_UNTESTED_STORY = ("architect", "builder")
# They write sentences, not code: a verdict with its reasons, a list of risks.
STORY_REVIEW_ROLES = ("review",)
PROSE_ROLES = frozenset({*ROLES_OF_PRD, *STORY_REVIEW_ROLES})
PROSE_OUTPUT_TOKENS = 600
# Planning reads the PRD once and writes the stories once, with a few hundred tokens for each story.
PLAN_INPUT_TOKENS = 4_000
PLAN_OUTPUT_TOKENS_PER_STORY = 300
# System prompt (700), repository map (1,500), PRD and story (1,500), the task (600), the story's own files (700).
INPUT_TOKENS_PER_CALL = 5_000
# Share of a call's input that earlier calls of the run have put into the provider's cache: system, map, PRD.
CACHED_SHARE = 0.6
# A phase writes a file of some 20 lines at complexity 1 and 120 at complexity 10, at about ten tokens a line.
OUTPUT_TOKENS_BASE = 100
OUTPUT_TOKENS_PER_COMPLEXITY = 110
# A refused attempt, or a few turns with tools, repeats the whole call: 2.5 is one repetition and a half per phase.
HIGH_FACTOR = 2.5
# Share of calls that are the last attempt with the strong model, at the high end: one phase in eight.
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
FREE_PRICE = Price(input=0, output=0, cache_write=0, cache_read=0)
FREE_MODELS = ("human", "replay:")


class RoleEstimate(Record):
    role: str
    calls: int  # at the low end
    tokens_low: int
    tokens_high: int
    usd_low: float | None  # None: no price is known for its model


class Estimate(Record):
    tokens_low: int
    tokens_high: int
    minutes_low: int
    minutes_high: int
    usd_low: float | None
    usd_high: float | None
    models: tuple[str, ...] = ()  # the models for all attempts but the last
    unpriced: tuple[str, ...] = ()  # models without a known price; then dollars are not estimated
    roles: tuple[RoleEstimate, ...] = ()  # in the order of their work
    # Estimated minutes of the stories before and after the factor learnt from earlier stories; 0: no factor.
    stories_guessed: int = 0
    stories_minutes: int = 0
    learnt: str = ""  # the factor, and the number of stories it is learnt from


def estimate_backlog(
    backlog: Backlog,
    prices: Mapping[str, Price],
    models: ModelSelection,
    *,
    profile: Profile = "standard",
    fused: bool = False,
    learnt: str = "",
) -> Estimate:
    """Estimate the open stories. `fused`: tests and code in one call, as always in `quick`. `learnt`: the Estimator's
    verdict."""
    stories = list_open_stories(backlog)
    was_learnt = any(story.guessed_minutes is not None for story in stories)
    profile_roles = _ProfileRoles(profile, fused=fused or profile == "quick")
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
    """Return the estimate before the learnt factor."""
    return story.estimate_minutes if story.guessed_minutes is None else story.guessed_minutes


def describe_story_minutes(guess: Estimate) -> str:
    """Return "stories 30 min (15 times 2.00, learnt from 3 stories)"; empty if there is no learnt factor."""
    if not guess.stories_minutes:
        return ""
    how = clip(clean_line(guess.learnt), 80) or "before what was learnt"
    return f"stories {guess.stories_minutes} min ({guess.stories_guessed} {how})"


def compute_cost(price: Price, spend: Spend) -> float:
    """Return the dollars for counted tokens. Tokens written to the cache are charged as input."""
    read = price.input if price.cache_read is None else price.cache_read
    dollars = spend.input_tokens * price.input + spend.cached_tokens * read + spend.output_tokens * price.output
    return dollars / PER_MILLION


def get_model_id(spec: str) -> str:
    """Return `claude-x` for `anthropic:claude-x`, as in `prices`. The directory of a transcript is not shown."""
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
    """Return the total cost; None if one of the models has no known price."""
    found = {role: look_up_price(prices, spec) for role, spec in models.items()}
    known = {role: price for role, price in found.items() if price is not None}
    return sum(compute_cost(known[role], spend) for role, spend in spends.items()) if len(known) == len(found) else None


@dataclass(frozen=True)
class _ProfileRoles:
    """The roles for which a profile uses a model."""

    profile: Profile
    fused: bool

    @property
    def prd_roles(self) -> tuple[str, ...]:
        return tuple(role for role in ROLES_OF_PRD if uses_model(role, self.profile))

    @property
    def plan_roles(self) -> tuple[str, ...]:
        return PLAN_PASS_ROLES if self.profile == "full" else (PLANNER_ROLE,)

    def list_story_roles(self, story: Story) -> tuple[str, ...]:
        tested = ROLES_OF_FUSED_STORY if self.fused else ROLES_OF_TESTED_STORY
        roles = ROLES_OF_UNTESTED_STORY if story.kind in UNTESTED_KINDS else (*tested, *STORY_REVIEW_ROLES)
        return tuple(role for role in roles if uses_model(role, self.profile))


def _estimate_by_role(stories: Sequence[Story], profile_roles: _ProfileRoles) -> dict[str, Spend]:
    """Estimate each role in the order of work: planning first, then the roles of all stories."""
    if not stories:
        return {}
    written = PLAN_OUTPUT_TOKENS_PER_STORY * len(stories) // len(profile_roles.plan_roles)
    plan = Spend(calls=1, input_tokens=PLAN_INPUT_TOKENS, output_tokens=written)
    spends = {
        **dict.fromkeys(profile_roles.plan_roles, plan),
        **{role: _estimate_prose_call() for role in profile_roles.prd_roles},
    }
    for story in stories:
        for role in profile_roles.list_story_roles(story):
            spends[role] = spends.get(role, Spend()) + _estimate_call(story, role)
    return spends


def _estimate_prose_call() -> Spend:
    return Spend(calls=1, input_tokens=PLAN_INPUT_TOKENS, output_tokens=PROSE_OUTPUT_TOKENS)


def _estimate_call(story: Story, role: str) -> Spend:
    cached = int(INPUT_TOKENS_PER_CALL * CACHED_SHARE)
    written = OUTPUT_TOKENS_BASE + OUTPUT_TOKENS_PER_COMPLEXITY * story.complexity
    output = PROSE_OUTPUT_TOKENS if role in PROSE_ROLES else 2 * written if role == "fused" else written
    return Spend(calls=1, input_tokens=INPUT_TOKENS_PER_CALL - cached, cached_tokens=cached, output_tokens=output)


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
