"""May the next model call be made? Asked before every call, answered from what has been spent so far.

A limit is checked against *used plus expected*: the call that would cross it is not made. The expectation is an
estimate, so the most that a limit can be overrun by is the rest of one call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from prd2pr.core.records import Spend
from prd2pr.core.wording import token_count

Unit = Literal["usd", "tokens", "minutes"]
Scope = Literal["run", "story", "prd"]

NOTHING_SPENT = Spend()
SCOPE_NAMES: dict[Scope, str] = {"run": "this run", "story": "this story", "prd": "this PRD"}


@dataclass(frozen=True)
class Limits:
    """None is "no limit". The names are those of `budget:` in `.prd2pr.yml`."""

    usd_per_run: float | None = None
    usd_per_story: float | None = None
    usd_per_prd: float | None = None
    tokens_per_run: int | None = None
    tokens_per_story: int | None = None
    tokens_per_prd: int | None = None
    minutes_per_run: float | None = None
    minutes_per_story: float | None = None
    minutes_per_prd: float | None = None


@dataclass(frozen=True)
class CallEstimate:
    """What the next call will probably take. `usd` is None where the model has no known price."""

    model: str
    tokens: int = 0
    usd: float | None = 0.0


@dataclass(frozen=True)
class Budget:
    limits: Limits
    spent_run: Spend = NOTHING_SPENT
    spent_story: Spend = NOTHING_SPENT
    spent_prd: Spend = NOTHING_SPENT
    started: float = 0.0  # of this run, in seconds of the same clock as `now`
    seconds_story: float = 0.0  # that its steps took, with what is under way
    seconds_prd: float = 0.0

    def spent(self, scope: Scope) -> Spend:
        return {"run": self.spent_run, "story": self.spent_story, "prd": self.spent_prd}[scope]

    def minutes(self, scope: Scope, now: float) -> float:
        seconds = {"run": now - self.started, "story": self.seconds_story, "prd": self.seconds_prd}
        return seconds[scope] / 60


@dataclass(frozen=True)
class BudgetStop:
    """Why the next call is not made. `limit` is the setting's full name: budget.usd_per_run."""

    limit: str
    used: float
    allowed: float
    unit: Unit
    what: str
    remedy: str


@dataclass(frozen=True)
class _Rule:
    setting: str
    scope: Scope
    unit: Unit


# In this order: the narrowest limit is the most telling one.
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


def check(budget: Budget, now: float, next_call: CallEstimate) -> BudgetStop | None:
    """The first limit that the next call would cross, or None: go ahead."""
    for rule in _SPENDING_RULES:
        allowed: float | None = getattr(budget.limits, rule.setting)
        if allowed is None:
            continue
        stop = _check_spending(rule, allowed, budget.spent(rule.scope), next_call)
        if stop is not None:
            return stop
    return next(filter(None, (_check_time(rule, budget, now) for rule in _TIME_RULES)), None)


def _check_spending(rule: _Rule, allowed: float, spent: Spend, next_call: CallEstimate) -> BudgetStop | None:
    if rule.unit == "tokens":
        used, expected = float(spent.tokens), float(next_call.tokens)
    elif spent.usd is None or next_call.usd is None:
        return _unpriced(rule, allowed, spent, next_call)
    else:
        used, expected = spent.usd, next_call.usd
    if used < allowed and used + expected <= allowed:
        return None
    return BudgetStop(
        limit=f"budget.{rule.setting}",
        used=used,
        allowed=allowed,
        unit=rule.unit,
        what=_crossed(rule, used, allowed, expected),
        remedy=f"Raise budget.{rule.setting} in .prd2pr.yml, then `prd2pr run` goes on where it stopped.",
    )


def _crossed(rule: _Rule, used: float, allowed: float, expected: float) -> str:
    sentence = (
        f"the budget of {SCOPE_NAMES[rule.scope]} is used up: {amount(used, rule.unit)} of {amount(allowed, rule.unit)}"
    )
    if used < allowed:
        return f"{sentence}, and the next call would take about {amount(expected, rule.unit)}."
    return f"{sentence}."


PUT_THE_PRICE = "Put the price under"


def _unpriced(rule: _Rule, allowed: float, spent: Spend, next_call: CallEstimate) -> BudgetStop:
    """A dollar limit that cannot be counted must stop the work: carrying on would be to ignore it."""
    culprit = f"{next_call.model} has no known price" if next_call.usd is None else "an earlier call had no known price"
    return BudgetStop(
        limit=f"budget.{rule.setting}",
        used=spent.usd or 0.0,
        allowed=allowed,
        unit="usd",
        what=(
            f"budget.{rule.setting} is {amount(allowed, 'usd')}, but {culprit}, so dollars cannot be counted"
            f" ({amount(spent.tokens, 'tokens')} so far)."
        ),
        remedy=(
            f"{PUT_THE_PRICE} `prices: {{{next_call.model}: {{input: …, output: …}}}}` (USD per million tokens)"
            f" in .prd2pr.yml, or replace budget.{rule.setting} by a limit in tokens or minutes."
        ),
    )


def _check_time(rule: _Rule, budget: Budget, now: float) -> BudgetStop | None:
    allowed: float | None = getattr(budget.limits, rule.setting)
    used = budget.minutes(rule.scope, now)
    if allowed is None or used < allowed:
        return None
    again = "`prd2pr run` goes on where it stopped; raise budget.minutes_per_run in .prd2pr.yml for longer runs."
    raised = f"Raise budget.{rule.setting} in .prd2pr.yml, then `prd2pr run` goes on where it stopped."
    return BudgetStop(
        limit=f"budget.{rule.setting}",
        used=used,
        allowed=allowed,
        unit="minutes",
        what=(
            f"the time of {SCOPE_NAMES[rule.scope]} is used up:"
            f" {amount(used, 'minutes')} of {amount(allowed, 'minutes')}."
        ),
        remedy=again if rule.scope == "run" else raised,
    )


def amount(value: float, unit: Unit) -> str:
    """As people read it: $0.84, 62k tokens, 14 min."""
    if unit == "usd":
        return f"${value:.2f}" if value == 0 or value >= 0.01 else f"${value:.4f}"
    if unit == "minutes":
        return f"{value:.0f} min" if value >= 1 else f"{value * 60:.0f} s"
    return token_count(round(value))
