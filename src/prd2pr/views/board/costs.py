"""Spending over time and by PRD, model and role, computed from the runs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta

from prd2pr.domain.records import Spend
from prd2pr.views.board.models import CostShare, CostView
from prd2pr.views.models import RunView

MAX_DAYS = 366  # number of days listed; totals include all days


def build_cost_view(runs: Iterable[RunView]) -> CostView:
    listed = tuple(runs)
    return CostView(
        total=sum((run.spend for run in listed), Spend()),
        days=sum_by_day(listed),
        prds=rank_by_cost((f"{run.repo}:{run.prd}", run.spend) for run in listed),
        models=rank_by_cost((run.model or "not named", run.spend) for run in listed),
        roles=rank_by_cost((each.role, each.spend) for run in listed for each in run.roles),
    )


def rank_by_cost(parts: Iterable[tuple[str, Spend]]) -> tuple[CostShare, ...]:
    """Sum up spending by name and sort it by dollars, then by tokens. Names without spending are left out."""
    found: dict[str, Spend] = {}
    for name, spend in parts:
        found[name] = found.get(name, Spend()) + spend
    shares = (CostShare(name, spend) for name, spend in found.items() if spend.calls or spend.tokens)
    return tuple(sorted(shares, key=lambda each: (-(each.spend.usd or 0), -each.spend.tokens, each.name)))


def sum_by_day(runs: Iterable[RunView]) -> tuple[CostShare, ...]:
    """Sum up spending for every day from the first to the last, including days without spending."""
    spent: dict[str, Spend] = {}
    for run in runs:
        day = parse_day(run.started_at)
        if day:
            spent[day] = spent.get(day, Spend()) + run.spend
    return tuple(CostShare(day, spent.get(day, Spend())) for day in list_days(spent))


def list_days(days: Iterable[str]) -> tuple[str, ...]:
    found = sorted(map(date.fromisoformat, days))
    if not found:
        return ()
    first = max(found[0], found[-1] - timedelta(days=MAX_DAYS - 1))
    return tuple((first + timedelta(days=n)).isoformat() for n in range((found[-1] - first).days + 1))


def parse_day(at: str) -> str:
    """Return the day of a timestamp, such as `2026-11-17`, or an empty string if the timestamp is invalid."""
    try:
        return date.fromisoformat(at[:10]).isoformat()
    except ValueError:
        return ""
