"""What each role took, or will take: in words for whoever watches, as rows for the pull request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from prd2pr.core.records import RoleSpend, RunRecord, Spend
from prd2pr.core.wording import count, dollars, tokens

NO_PRICE = "no price known"


@dataclass(frozen=True)
class RoleCost:
    role: str
    spend: Spend = field(default_factory=Spend)
    kept: int = 0  # answers that an earlier run had paid for


def role_of(purpose: str) -> str:
    """`calc-1/red/tester/1/1` → `tester`, as `ports.Purpose` writes it."""
    return purpose.split("/")[-3]


def role_costs(lines: Iterable[Mapping[str, Any]]) -> tuple[RoleCost, ...]:
    """From the lines of a run's log, in the order in which the roles were first asked."""
    found: dict[str, RoleCost] = {}
    for line in lines:
        if line["kind"] not in ("call", "kept"):
            continue
        role = role_of(str(line["purpose"]))
        before = found.get(role, RoleCost(role))
        spend = Spend(**{name: line[name] for name in Spend.model_fields if name in line})  # a failed call has none
        found[role] = RoleCost(role, before.spend + spend, before.kept + (line["kind"] == "kept"))
    return tuple(found.values())


def added(spends: Mapping[str, Spend], more: Mapping[str, Spend]) -> dict[str, Spend]:
    names = dict.fromkeys((*spends, *more))
    return {name: spends.get(name, Spend()) + more.get(name, Spend()) for name in names}


def on_record(lines: Iterable[Mapping[str, Any]], inherited: Mapping[str, Spend]) -> tuple[RoleSpend, ...]:
    """Of a run, with what it inherited from runs that were killed."""
    spends = added({each.role: each.spend for each in role_costs(lines)}, inherited)
    return tuple(RoleSpend(role=role, spend=spend) for role, spend in spends.items() if spend.calls)


def spent_by_role(runs: Iterable[RunRecord]) -> tuple[RoleCost, ...]:
    """Over all runs, the dearest first. Runs of earlier versions do not say it; then it is less than all that was
    spent."""
    found: dict[str, Spend] = {}
    for run in runs:
        found = added(found, {each.role: each.spend for each in run.roles})
    ordered = sorted(found.items(), key=lambda each: (-each[1].tokens, each[0]))
    return tuple(RoleCost(role, spend) for role, spend in ordered if spend.calls)


# --- in words ---------------------------------------------------------------------------------------------------------


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


class RoleRow(NamedTuple):
    role: str
    calls: int
    tokens: str
    usd: str


def role_rows(costs: Iterable[RoleCost]) -> tuple[RoleRow, ...]:
    return tuple(
        RoleRow(
            each.role,
            each.spend.calls,
            tokens(each.spend.tokens),
            NO_PRICE if each.spend.usd is None else dollars(each.spend.usd),
        )
        for each in costs
    )


def cost_table(rows: Sequence[RoleRow]) -> list[str]:
    """In columns, one line for each."""
    cells = [(each.role, count(each.calls, "call"), f"{each.tokens} tokens", each.usd) for each in rows]
    widths = [max((len(row[column]) for row in cells), default=0) for column in range(4)]
    return [
        f"    {role:<{widths[0]}}  {calls:>{widths[1]}}  {used:>{widths[2]}}  {usd:>{widths[3]}}".rstrip()
        for role, calls, used, usd in cells
    ]


def roles_json(costs: Iterable[RoleCost]) -> dict[str, dict[str, Any]]:
    return {each.role: {**each.spend.model_dump(), "kept": each.kept} for each in costs}
