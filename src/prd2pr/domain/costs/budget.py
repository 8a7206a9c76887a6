"""The budget check before every model call.

The amount used plus the expected cost of the call is compared with the limit; a call that would exceed it is not made.
Since the cost is an estimate, a limit can be exceeded by at most a part of one call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from prd2pr.domain.records import Spend
from prd2pr.domain.wording import format_token_count

Unit = Literal["usd", "tokens", "minutes"]
BudgetScope = Literal["run", "story", "prd"]

NOTHING_SPENT = Spend()
SCOPE_NAMES: dict[BudgetScope, str] = {"run": "this run", "story": "this story", "prd": "this PRD"}


@dataclass(frozen=True)
class UsageLimits:
    """The limits of `budget:` in `.prd2pr.yml`, under the same names. None means no limit."""

    usd_per_run: float | None = None
    usd_per_story: float | None = None
    usd_per_prd: float | None = None
    tokens_per_run: int | None = None
    tokens_per_story: int | None = None
    tokens_per_prd: int | None = None
    minutes_per_run: float | None = None
    minutes_per_story: float | None = None
    minutes_per_prd: float | None = None

    @property
    def counts_tokens(self) -> bool:
        return any((self.tokens_per_run, self.tokens_per_story, self.tokens_per_prd))


@dataclass(frozen=True)
class CallEstimate:
    """The expected size of the next call. `usd` is None if the model has no known price."""

    model: str
    tokens: int = 0
    usd: float | None = 0.0


@dataclass(frozen=True)
class Budget:
    limits: UsageLimits
    spent_run: Spend = NOTHING_SPENT
    spent_story: Spend = NOTHING_SPENT
    spent_prd: Spend = NOTHING_SPENT
    started: float = 0.0  # start of this run, in seconds of the same clock as `now`
    seconds_story: float = 0.0  # duration of the story's steps, including the current one
    seconds_prd: float = 0.0

    def get_spent(self, scope: BudgetScope) -> Spend:
        return {"run": self.spent_run, "story": self.spent_story, "prd": self.spent_prd}[scope]

    def get_minutes(self, scope: BudgetScope, now: float) -> float:
        seconds = {"run": now - self.started, "story": self.seconds_story, "prd": self.seconds_prd}
        return seconds[scope] / 60


@dataclass(frozen=True)
class BudgetStop:
    """The reason why the next call is not made. `limit` is the full name of the setting, as in `budget.usd_per_run`."""

    limit: str
    used: float
    allowed: float
    unit: Unit
    what: str
    remedy: str


@dataclass(frozen=True)
class _Rule:
    setting: str
    scope: BudgetScope
    unit: Unit


# The narrowest limit comes first, since it is the most helpful one in a message.
_SPENDING_RULES: tuple[_Rule, ...] = (
    _Rule("usd_per_story", "story", "usd"),
    _Rule("usd_per_run", "run", "usd"),
    _Rule("usd_per_prd", "prd", "usd"),
    _Rule("tokens_per_story", "story", "tokens"),
    _Rule("tokens_per_run", "run", "tokens"),
    _Rule("tokens_per_prd", "prd", "tokens"),
)


_TIME_RULES: tuple[_Rule, ...] = (
    _Rule("minutes_per_story", "story", "minutes"),
    _Rule("minutes_per_run", "run", "minutes"),
    _Rule("minutes_per_prd", "prd", "minutes"),
)


def check_budget(budget: Budget, now: float, next_call: CallEstimate) -> BudgetStop | None:
    """Return the first limit that the next call would exceed, or None if the call may be made."""
    for rule in _SPENDING_RULES:
        allowed: float | None = getattr(budget.limits, rule.setting)
        if allowed is None:
            continue
        stop = _check_spending(rule, allowed, budget.get_spent(rule.scope), next_call)
        if stop is not None:
            return stop
    return next(filter(None, (_check_time(rule, budget, now) for rule in _TIME_RULES)), None)


def _check_spending(rule: _Rule, allowed: float, spent: Spend, next_call: CallEstimate) -> BudgetStop | None:
    if rule.unit == "tokens":
        if spent.calls and not spent.tokens and spent.usd is None:
            return _stop_uncounted(rule, allowed)
        used, expected = float(spent.tokens), float(next_call.tokens)
    elif spent.usd is None or next_call.usd is None:
        return _stop_unpriced(rule, allowed, spent, next_call)
    else:
        used, expected = spent.usd, next_call.usd
    if used < allowed and used + expected <= allowed:
        return None
    return BudgetStop(
        limit=f"budget.{rule.setting}",
        used=used,
        allowed=allowed,
        unit=rule.unit,
        what=_describe_overrun(rule, used, allowed, expected),
        remedy=f"Raise budget.{rule.setting} in .prd2pr.yml, then `prd2pr run` continues.",
    )


def _describe_overrun(rule: _Rule, used: float, allowed: float, expected: float) -> str:
    spent, limit = format_amount(used, rule.unit), format_amount(allowed, rule.unit)
    sentence = f"the budget of {SCOPE_NAMES[rule.scope]} is used up: {spent} of {limit}"
    if used < allowed:
        return f"{sentence}, and the next call would take about {format_amount(expected, rule.unit)}."
    return f"{sentence}."


PRICE_REMEDY = "Put the price under"


def _stop_uncounted(rule: _Rule, allowed: float) -> BudgetStop:
    """Return a stop because earlier calls reported no usage, so that they cannot be counted."""
    limit = f"budget.{rule.setting}"
    return BudgetStop(
        limit=limit,
        used=0.0,
        allowed=allowed,
        unit="tokens",
        what=f"{limit} is {format_amount(allowed, 'tokens')}, but the calls so far reported no tokens.",
        remedy=f'Let the worker report "usage", or replace {limit} by a limit in minutes.',
    )


def _stop_unpriced(rule: _Rule, allowed: float, spent: Spend, next_call: CallEstimate) -> BudgetStop:
    """Return a stop because the price of this call or of an earlier one is unknown, so the limit cannot be checked."""
    cause = f"{next_call.model} has no known price" if next_call.usd is None else "an earlier call had no known price"
    return BudgetStop(
        limit=f"budget.{rule.setting}",
        used=spent.usd or 0.0,
        allowed=allowed,
        unit="usd",
        what=(
            f"budget.{rule.setting} is {format_amount(allowed, 'usd')}, but {cause}, so dollars cannot be counted"
            f" ({format_amount(spent.tokens, 'tokens')} so far)."
        ),
        remedy=(
            f"{PRICE_REMEDY} `prices: {{{next_call.model}: {{input: …, output: …}}}}` (USD per million tokens)"
            f" in .prd2pr.yml, or replace budget.{rule.setting} by a limit in tokens or minutes."
        ),
    )


def _check_time(rule: _Rule, budget: Budget, now: float) -> BudgetStop | None:
    allowed: float | None = getattr(budget.limits, rule.setting)
    used = budget.get_minutes(rule.scope, now)
    if allowed is None or used < allowed:
        return None
    run_again = "`prd2pr run` continues; raise budget.minutes_per_run in .prd2pr.yml for longer runs."
    raise_limit = f"Raise budget.{rule.setting} in .prd2pr.yml, then `prd2pr run` continues."
    return BudgetStop(
        limit=f"budget.{rule.setting}",
        used=used,
        allowed=allowed,
        unit="minutes",
        what=(
            f"the time of {SCOPE_NAMES[rule.scope]} is used up:"
            f" {format_amount(used, 'minutes')} of {format_amount(allowed, 'minutes')}."
        ),
        remedy=run_again if rule.scope == "run" else raise_limit,
    )


def format_amount(value: float, unit: Unit) -> str:
    """Return an amount with its unit, such as "$0.84", "62k tokens" or "14 min"."""
    if unit == "usd":
        return f"${value:.2f}" if value == 0 or value >= 0.01 else f"${value:.4f}"
    if unit == "minutes":
        return f"{value:.0f} min" if value >= 1 else f"{value * 60:.0f} s"
    return format_token_count(round(value))


SPENT_NOTE = "spent without a step"


OUT_OF_BUDGET_NOTE = "it stopped for its budget"  # part of such a note
