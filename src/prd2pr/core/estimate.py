"""What a backlog will probably take: tokens, minutes and, where prices are known, dollars.

The rule is simple on purpose: calls per story × tokens per call, output growing with the story's complexity; the low
end is "every phase at the first attempt", the high end "half of the work done again". Each constant says why it is so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from prd2pr.core.crew import Crew
from prd2pr.core.profiles import STRONG, Profile, asks
from prd2pr.core.records import SETTLED, UNTESTED_KINDS, Backlog, Record, Spend, Story
from prd2pr.core.wording import clip, plain

PER_MILLION = 1_000_000

# One model call each, where the profile asks a model for it. Integration is done by code.
PLANS = "planner"
ROLES_OF_PRD = ("why", "research", "documentation", "security", "estimator", "retrospective")
PASSES = ("decomposer_tasks", "decomposer_criteria")  # that plan instead where a plan is made in passes
ROLES_OF_TESTED_STORY = ("architect", "tester", "builder", "refactorer")
ROLES_OF_FUSED_STORY = ("architect", "fused", "refactorer")
# The design, then the change itself: no tests are asked for.
ROLES_OF_UNTESTED_STORY = ("architect", "builder")
# They write sentences, not code: a verdict with its reasons, a list of risks.
LOOKS_AT_STORY = ("review",)
JUDGES = frozenset({*ROLES_OF_PRD, *LOOKS_AT_STORY})
JUDGED_OUTPUT_TOKENS = 600
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
    models: tuple[str, ...] = ()  # that will do the work, unless it comes to a last attempt
    unpriced: tuple[str, ...] = ()  # models whose price is not known: dollars are then not guessed
    roles: tuple[RoleEstimate, ...] = ()  # in the order of their work
    # Minutes that the stories were thought to take, and what earlier ones make of that; 0: nothing was learnt.
    stories_guessed: int = 0
    stories_minutes: int = 0
    learnt: str = ""  # by which factor, and from how many stories


def estimate(
    backlog: Backlog,
    prices: Mapping[str, Price],
    crew: Crew,
    *,
    profile: Profile = "standard",
    fused: bool = False,
    learnt: str = "",
) -> Estimate:
    """For the stories that are still to be done. `fused`: tests and code in one call, as always in `quick`. `learnt`:
    the Estimator's verdict."""
    stories = to_do(backlog)
    was_learnt = any(story.guessed_minutes is not None for story in stories)
    staff = _Staff(profile, fused=fused or profile == "quick")
    low = _by_role(stories, staff)
    high = {role: _scaled(spend, HIGH_FACTOR) for role, spend in low.items()}
    working = {role: crew.model(role, strong=role in STRONG) for role in low}
    last = {role: crew.model(role, strong=True) for role in low}
    phases = sum(len(staff.of_story(story)) for story in stories)
    all_low, all_high = sum(low.values(), Spend()), sum(high.values(), Spend())
    usd_low, usd_last = _cost(prices, working, low), _cost(prices, last, high)
    usd_high = _cost(prices, working, high)
    return Estimate(
        tokens_low=all_low.tokens,
        tokens_high=all_high.tokens,
        minutes_low=_minutes(all_low, phases),
        minutes_high=_minutes(all_high, phases * HIGH_FACTOR),
        usd_low=None if usd_low is None else round(usd_low, 2),
        usd_high=None
        if usd_high is None or usd_last is None
        else round(usd_high * (1 - STRONG_SHARE) + usd_last * STRONG_SHARE, 2),
        models=_ids(working.values()),
        unpriced=_ids(spec for spec in (*working.values(), *last.values()) if price_of(prices, spec) is None),
        roles=tuple(
            RoleEstimate(
                role=role,
                calls=spend.calls,
                tokens_low=spend.tokens,
                tokens_high=high[role].tokens,
                usd_low=None if (price := price_of(prices, working[role])) is None else round(cost(price, spend), 4),
            )
            for role, spend in low.items()
        ),
        stories_guessed=round(sum(map(guessed_minutes, stories))) if was_learnt else 0,
        stories_minutes=sum(story.estimate_minutes for story in stories) if was_learnt else 0,
        learnt=learnt if was_learnt else "",
    )


def to_do(backlog: Backlog) -> tuple[Story, ...]:
    """Neither settled nor waiting to be dropped."""
    return tuple(s for s in backlog.stories if s.status not in SETTLED and s.id not in backlog.dropping)


def guessed_minutes(story: Story) -> float:
    """Before what earlier stories taught."""
    return story.estimate_minutes if story.guessed_minutes is None else story.guessed_minutes


def stories_text(guess: Estimate) -> str:
    """stories 30 min (15 times 2.00, learnt from 3 stories); empty where nothing was learnt."""
    if not guess.stories_minutes:
        return ""
    how = clip(plain(guess.learnt), 80) or "before what was learnt"
    return f"stories {guess.stories_minutes} min ({guess.stories_guessed} {how})"


def cost(price: Price, spend: Spend) -> float:
    """Dollars for counted tokens. What was written to the cache stands among the input and is charged as such."""
    read = price.input if price.cache_read is None else price.cache_read
    dollars = spend.input_tokens * price.input + spend.cached_tokens * read + spend.output_tokens * price.output
    return dollars / PER_MILLION


def model_id(spec: str) -> str:
    """`anthropic:claude-x` → `claude-x`: named as in `prices`. Where a transcript lies is nobody's affair."""
    provider, colon, name = spec.partition(":")
    if provider == "replay":
        return f"{provider}:{name.rpartition('/')[2]}"
    return name if colon and provider in ("anthropic", "openai") else spec


def price_of(prices: Mapping[str, Price], spec: str) -> Price | None:
    if spec.startswith(UNBILLED):
        return FREE
    return prices.get(spec) or prices.get(model_id(spec))


def _ids(specs: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(model_id(spec) for spec in specs))


def _cost(prices: Mapping[str, Price], models: Mapping[str, str], spends: Mapping[str, Spend]) -> float | None:
    """None, where one of the models has no known price."""
    found = {role: price_of(prices, spec) for role, spec in models.items()}
    known = {role: price for role, price in found.items() if price is not None}
    return sum(cost(known[role], spend) for role, spend in spends.items()) if len(known) == len(found) else None


@dataclass(frozen=True)
class _Staff:
    """Whom a profile asks."""

    profile: Profile
    fused: bool

    @property
    def of_prd(self) -> tuple[str, ...]:
        return tuple(role for role in ROLES_OF_PRD if asks(role, self.profile))

    @property
    def plans(self) -> tuple[str, ...]:
        return PASSES if self.profile == "full" else (PLANS,)

    def of_story(self, story: Story) -> tuple[str, ...]:
        tested = ROLES_OF_FUSED_STORY if self.fused else ROLES_OF_TESTED_STORY
        roles = ROLES_OF_UNTESTED_STORY if story.kind in UNTESTED_KINDS else (*tested, *LOOKS_AT_STORY)
        return tuple(role for role in roles if asks(role, self.profile))


def _by_role(stories: Sequence[Story], staff: _Staff) -> dict[str, Spend]:
    """In the order of their work: the planner's, then that of the roles of all stories."""
    if not stories:
        return {}
    written = PLAN_OUTPUT_TOKENS_PER_STORY * len(stories) // len(staff.plans)
    plan = Spend(calls=1, input_tokens=PLAN_INPUT_TOKENS, output_tokens=written)
    spends = {**dict.fromkeys(staff.plans, plan), **{role: _judgement() for role in staff.of_prd}}
    for story in stories:
        for role in staff.of_story(story):
            spends[role] = spends.get(role, Spend()) + _call_spend(story, role)
    return spends


def _judgement() -> Spend:
    return Spend(calls=1, input_tokens=PLAN_INPUT_TOKENS, output_tokens=JUDGED_OUTPUT_TOKENS)


def _call_spend(story: Story, role: str) -> Spend:
    cached = int(INPUT_TOKENS_PER_CALL * CACHED_SHARE)
    written = OUTPUT_TOKENS_BASE + OUTPUT_TOKENS_PER_COMPLEXITY * story.complexity
    output = JUDGED_OUTPUT_TOKENS if role in JUDGES else 2 * written if role == "fused" else written
    return Spend(calls=1, input_tokens=INPUT_TOKENS_PER_CALL - cached, cached_tokens=cached, output_tokens=output)


def _scaled(spend: Spend, factor: float) -> Spend:
    return Spend(
        calls=round(spend.calls * factor),
        input_tokens=round(spend.input_tokens * factor),
        cached_tokens=round(spend.cached_tokens * factor),
        output_tokens=round(spend.output_tokens * factor),
    )


def _minutes(spend: Spend, phases: float) -> int:
    minutes = spend.output_tokens / OUTPUT_TOKENS_PER_MINUTE + phases * MINUTES_PER_PHASE_RUNS
    return max(1, round(minutes)) if phases else 0
