"""What a settled story comes to in the figures of the whole, so that its records need not be read again.

Only of a story that is settled without a doubt: every claim proved, every test passing. Everything else is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prd2pr.core.records import Phase, Spend, Step

Cost = tuple[
    str, int, int, int, int, float | None, float
]  # phase, calls, tokens (fresh, cached, out), dollars, seconds


@dataclass(frozen=True)
class Account:
    standing: str
    tests: int = 0  # all of them pass
    gates: int = 0  # all of them proved
    files: tuple[str, ...] = ()  # of its tests: a later run may have seen one of them not passing
    last_run: str = ""  # the moment of its newest run
    costs: tuple[Cost, ...] = ()  # one for each step


def as_line(account: Account) -> str:
    return json.dumps(
        [account.standing, account.tests, account.gates, account.files, account.last_run, account.costs],
        separators=(",", ":"),
    )


def from_line(line: str) -> Account | None:
    """None: it is not such a line."""
    try:
        standing, tests, gates, files, last_run, costs = json.loads(line)
        return Account(standing, tests, gates, tuple(files), last_run, tuple(map(tuple, costs)))
    except (ValueError, TypeError):
        return None


def cost(step: Step) -> Cost:
    spend = step.spend
    phase = "" if step.phase is Phase.NOTE and not spend.calls else step.phase.value
    return (
        phase, spend.calls, spend.input_tokens, spend.cached_tokens, spend.output_tokens, spend.usd, step.seconds
    )  # fmt: skip


@dataclass(frozen=True)
class PhaseTotal:
    spend: Spend
    seconds: float


def totals(accounts: Iterable[Account]) -> Mapping[str, PhaseTotal]:
    """By phase. Added up as plain numbers: there may be tens of thousands of steps."""
    sums: dict[str, list[Any]] = {}
    for account in accounts:
        for phase, calls, fresh, cached, out, usd, seconds in account.costs:
            found = sums.setdefault(phase, [0, 0, 0, 0, 0.0, 0.0])
            for place, number in enumerate((calls, fresh, cached, out)):
                found[place] += number
            found[4] = None if usd is None or found[4] is None else found[4] + usd
            found[5] += seconds
    return {phase: _total(numbers) for phase, numbers in sums.items()}


def _total(numbers: Sequence[Any]) -> PhaseTotal:
    calls, fresh, cached, out, usd, seconds = numbers
    dollars = None if usd is None else round(usd, 6)
    spend = Spend(calls=calls, input_tokens=fresh, cached_tokens=cached, output_tokens=out, usd=dollars)
    return PhaseTotal(spend, seconds)
