"""Trying deliberate faults on a story's tests, beside the run of the whole suite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from prd2pr.core.bite.plan import BitePlan, bite_plan
from prd2pr.core.bite.record import Bite
from prd2pr.core.evidence import PathKind
from prd2pr.flows.codebase import Codebase, Pair
from prd2pr.ports import BiteRequest, TestRunner

MUTANTS = 40


@dataclass(frozen=True)
class Trial:
    """`wait` for what came of it; `again`, alone, where something else may have been in its way."""

    wait: Callable[[], Bite]
    again: Callable[[], Bite]


def try_faults(  # noqa: PLR0917 what a trial depends on
    runner: TestRunner, new: Codebase, old: Codebase, pair: Pair, tests: tuple[str, ...],
    restore: Mapping[str, str], most: int,
) -> Trial | None:  # fmt: skip
    """On what `new` has and `old` has not. None where no test is known that could notice."""
    if not tests:
        return None
    plan = plan_of(new, old, pair, tests, most)
    if plan.is_empty:
        return Trial(Bite, Bite)
    request = BiteRequest(new.tree, tests, plan, most, restore)

    def again() -> Bite:
        return runner.start_bite(request)()

    return Trial(runner.start_bite(request), again)


def plan_of(new: Codebase, old: Codebase, pair: Pair, tests: tuple[str, ...], most: int) -> BitePlan:
    changed = {change.path for change in pair.changes if change.kind is PathKind.SOURCE}
    before, after = ({path: text for path, text in side.source_texts.items() if path in changed} for side in (old, new))
    files = {test.partition("::")[0] for test in tests}
    wanted = {path: text for path, text in pair.base.test_texts.items() if path in files}
    return bite_plan(before, after, wanted, seed=new.tree, most=most)
