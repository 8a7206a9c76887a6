"""Totals of finished stories, cached so that their records need not be read again.

Only stories whose steps are all proved and whose tests all pass have cached totals; all others are read in full.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prd2pr.domain.records import Phase, Spend, Step

StepCost = tuple[
    str, int, int, int, int, float | None, float
]  # phase, calls, tokens (fresh, cached, out), dollars, seconds


@dataclass(frozen=True)
class StoryAccount:
    progress: str
    tests: int = 0  # all of them pass
    gates: int = 0  # all of them are proved
    files: tuple[str, ...] = ()  # test files, to find failures in later runs
    last_run: str = ""  # time of the latest run
    costs: tuple[StepCost, ...] = ()  # one for each step
    traced: tuple[str, ...] = ()  # criteria that a test names


def format_account(account: StoryAccount) -> str:
    return json.dumps(
        [
            *(account.progress, account.tests, account.gates, account.files, account.last_run, account.costs),
            account.traced,
        ],
        separators=(",", ":"),
    )


def parse_account(line: str) -> StoryAccount | None:
    """Parse a cached line, or return None if it is invalid."""
    try:
        progress, tests, gates, files, last_run, costs, traced = json.loads(line)
        return StoryAccount(progress, tests, gates, tuple(files), last_run, tuple(map(tuple, costs)), tuple(traced))
    except (ValueError, TypeError):
        return None


def compute_step_cost(step: Step) -> StepCost:
    spend = step.spend
    phase = "" if step.phase is Phase.NOTE and not spend.calls else step.phase.value
    return (
        phase, spend.calls, spend.input_tokens, spend.cached_tokens, spend.output_tokens, spend.usd, step.seconds
    )  # fmt: skip


@dataclass(frozen=True)
class PhaseTotal:
    spend: Spend
    seconds: float


def sum_by_phase(accounts: Iterable[StoryAccount]) -> Mapping[str, PhaseTotal]:
    """Sum up the totals by phase.

    Adds plain numbers instead of `Spend` objects, because there may be tens of thousands of steps.
    """
    sums: dict[str, list[Any]] = {}
    for account in accounts:
        for phase, calls, fresh, cached, out, usd, seconds in account.costs:
            found = sums.setdefault(phase, [0, 0, 0, 0, 0.0, 0.0])
            for place, number in enumerate((calls, fresh, cached, out)):
                found[place] += number
            found[4] = None if usd is None or found[4] is None else found[4] + usd
            found[5] += seconds
    return {phase: _build_total(numbers) for phase, numbers in sums.items()}


def _build_total(numbers: Sequence[Any]) -> PhaseTotal:
    calls, fresh, cached, out, usd, seconds = numbers
    dollars = None if usd is None else round(usd, 6)
    spend = Spend(calls=calls, input_tokens=fresh, cached_tokens=cached, output_tokens=out, usd=dollars)
    return PhaseTotal(spend, seconds)
