"""The cost of each role, as text for the terminal and as rows for the pull request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from prd2pr.domain.records import RoleSpend, RunRecord, Spend
from prd2pr.domain.wording import count, format_dollars, format_tokens

NO_PRICE = "no price known"


@dataclass(frozen=True)
class RoleCost:
    role: str
    spend: Spend = field(default_factory=Spend)
    kept: int = 0  # reused answers that an earlier run paid for


def get_role(purpose: str) -> str:
    """Return the role of a `Purpose`, such as `tester` for `calc-1/red/tester/1/1`."""
    return purpose.split("/")[-3]


def sum_role_costs(lines: Iterable[Mapping[str, Any]]) -> tuple[RoleCost, ...]:
    """Sum the lines of a run's log by role, in the order of each role's first call."""
    found: dict[str, RoleCost] = {}
    for line in lines:
        if line["kind"] not in ("call", "kept"):
            continue
        role = get_role(str(line["purpose"]))
        before = found.get(role, RoleCost(role))
        spend = Spend(**{name: line[name] for name in Spend.model_fields if name in line})  # none if it failed
        found[role] = RoleCost(role, before.spend + spend, before.kept + (line["kind"] == "kept"))
    return tuple(found.values())


def add_spends(spends: Mapping[str, Spend], more: Mapping[str, Spend]) -> dict[str, Spend]:
    names = dict.fromkeys((*spends, *more))
    return {name: spends.get(name, Spend()) + more.get(name, Spend()) for name in names}


def list_role_spends(lines: Iterable[Mapping[str, Any]], inherited: Mapping[str, Spend]) -> tuple[RoleSpend, ...]:
    """Return a run's spending by role, including that of killed runs."""
    spends = add_spends({each.role: each.spend for each in sum_role_costs(lines)}, inherited)
    return tuple(RoleSpend(role=role, spend=spend) for role, spend in spends.items() if spend.calls)


def sum_spend_by_role(runs: Iterable[RunRecord]) -> tuple[RoleCost, ...]:
    """Sum all runs by role, most expensive first.

    Runs of earlier versions are left out, since they recorded no roles.
    """
    found: dict[str, Spend] = {}
    for run in runs:
        found = add_spends(found, {each.role: each.spend for each in run.roles})
    ordered = sorted(found.items(), key=lambda each: (-each[1].tokens, each[0]))
    return tuple(RoleCost(role, spend) for role, spend in ordered if spend.calls)


# --- formatting -------------------------------------------------------------------------------------------------------


def format_cost_lines(costs: Iterable[RoleCost]) -> tuple[str, ...]:
    """Return lines such as "planner  3 calls, 41.2k tokens, 30.1k of them cached"."""
    listed = tuple(costs)
    width = max((len(each.role) for each in listed), default=0)
    return tuple(f"{each.role:<{width}}  {_format_role_cost(each)}" for each in listed)


def _format_role_cost(cost: RoleCost) -> str:
    spend = cost.spend
    cached = f", {format_tokens(spend.cached_tokens)} of them cached" if spend.cached_tokens else ""
    money = f", {format_dollars(spend.usd)}" if spend.usd else ""
    kept = f", {count(cost.kept, 'answer')} reused" if cost.kept else ""
    return f"{count(spend.calls, 'call')}, {format_tokens(spend.tokens)} tokens{cached}{money}{kept}"


class RoleRow(NamedTuple):
    role: str
    calls: int
    tokens: str
    usd: str


def build_role_rows(costs: Iterable[RoleCost]) -> tuple[RoleRow, ...]:
    return tuple(
        RoleRow(
            each.role,
            each.spend.calls,
            format_tokens(each.spend.tokens),
            NO_PRICE if each.spend.usd is None else format_dollars(each.spend.usd),
        )
        for each in costs
    )


def format_cost_table(rows: Sequence[RoleRow]) -> list[str]:
    """Return one line per role, with aligned columns."""
    cells = [(each.role, count(each.calls, "call"), f"{each.tokens} tokens", each.usd) for each in rows]
    widths = [max((len(row[column]) for row in cells), default=0) for column in range(4)]
    return [
        f"    {role:<{widths[0]}}  {calls:>{widths[1]}}  {used:>{widths[2]}}  {usd:>{widths[3]}}".rstrip()
        for role, calls, used, usd in cells
    ]


def dump_role_costs(costs: Iterable[RoleCost]) -> dict[str, dict[str, Any]]:
    return {each.role: {**each.spend.model_dump(), "kept": each.kept} for each in costs}
