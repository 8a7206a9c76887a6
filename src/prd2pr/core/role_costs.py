"""What each role took: calls and tokens, from the lines of a run's log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from prd2pr.core.records import Spend
from prd2pr.core.wording import count, dollars, tokens


@dataclass(frozen=True)
class RoleCost:
    role: str
    spend: Spend = field(default_factory=Spend)
    kept: int = 0  # answers that an earlier run had paid for


def role_costs(lines: Iterable[Mapping[str, Any]]) -> tuple[RoleCost, ...]:
    """In the order in which the roles were first asked."""
    found: dict[str, RoleCost] = {}
    for line in lines:
        if line["kind"] not in ("call", "kept"):
            continue
        role = str(line["purpose"]).split("/")[-3]
        before = found.get(role, RoleCost(role))
        spend = Spend(**{name: line[name] for name in Spend.model_fields if name in line})  # a failed call has none
        found[role] = RoleCost(role, before.spend + spend, before.kept + (line["kind"] == "kept"))
    return tuple(found.values())


def cost_lines(costs: Iterable[RoleCost]) -> tuple[str, ...]:
    """decomposer_tasks  7 calls  41.2k tokens, 30.1k of them cached"""
    listed = tuple(costs)
    width = max((len(each.role) for each in listed), default=0)
    return tuple(f"{each.role:<{width}}  {_told(each)}" for each in listed)


def _told(cost: RoleCost) -> str:
    spend = cost.spend
    cached = f", {tokens(spend.cached_tokens)} of them cached" if spend.cached_tokens else ""
    money = f", {dollars(spend.usd)}" if spend.usd else ""
    kept = f", {count(cost.kept, 'answer')} kept from before" if cost.kept else ""
    return f"{count(spend.calls, 'call')}, {tokens(spend.tokens)} tokens{cached}{money}{kept}"
