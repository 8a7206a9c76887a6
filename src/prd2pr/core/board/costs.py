"""What was spent: over time, and by whom it was spent for. Everything is added up from runs, and from nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta

from prd2pr.core.board.view import CostShare, CostView, RunView
from prd2pr.core.records import Spend

MOST_DAYS = 366  # of a longer time the last ones; sums hold all of it


def cost_view(runs: Iterable[RunView]) -> CostView:
    listed = tuple(runs)
    return CostView(
        total=sum((run.spend for run in listed), Spend()),
        days=by_day(listed),
        prds=dearest((f"{run.repo}:{run.prd}", run.spend) for run in listed),
        models=dearest((run.model or "not named", run.spend) for run in listed),
        roles=dearest((each.role, each.spend) for run in listed for each in run.roles),
    )


def dearest(parts: Iterable[tuple[str, Spend]]) -> tuple[CostShare, ...]:
    """By money, where it has no price by tokens. What cost nothing is left out."""
    found: dict[str, Spend] = {}
    for name, spend in parts:
        found[name] = found.get(name, Spend()) + spend
    shares = (CostShare(name, spend) for name, spend in found.items() if spend.calls or spend.tokens)
    return tuple(sorted(shares, key=lambda each: (-(each.spend.usd or 0), -each.spend.tokens, each.name)))


def by_day(runs: Iterable[RunView]) -> tuple[CostShare, ...]:
    """Every day from the first to the last, also those on which nothing was spent."""
    spent: dict[str, Spend] = {}
    for run in runs:
        day = day_of(run.started_at)
        if day:
            spent[day] = spent.get(day, Spend()) + run.spend
    return tuple(CostShare(day, spent.get(day, Spend())) for day in days_between(spent))


def days_between(days: Iterable[str]) -> tuple[str, ...]:
    found = sorted(map(date.fromisoformat, days))
    if not found:
        return ()
    first = max(found[0], found[-1] - timedelta(days=MOST_DAYS - 1))
    return tuple((first + timedelta(days=n)).isoformat() for n in range((found[-1] - first).days + 1))


def day_of(at: str) -> str:
    """2026-11-17T12:04:30Z → 2026-11-17; empty where it is no moment."""
    try:
        return date.fromisoformat(at[:10]).isoformat()
    except ValueError:
        return ""
