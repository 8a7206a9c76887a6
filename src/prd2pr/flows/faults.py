"""Trying deliberate faults on a story's tests, beside the run of the whole suite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from prd2pr.core.bite.plan import BitePlan, bite_plan
from prd2pr.core.bite.record import Bite, Way
from prd2pr.core.evidence import PathKind
from prd2pr.flows.codebase import Codebase, Pair
from prd2pr.ports import OTHER_SEED, BiteRequest, TestRunner

MUTANTS = 40


@dataclass(frozen=True)
class Trial:
    """`wait` for what came of it; `again`, alone, where something else may have been in its way.

    `as_the_suite`: with the hash seed that the whole suite was run with."""

    tests: tuple[str, ...]
    wait: Callable[[], Bite]
    again: Callable[[], Bite]
    as_the_suite: Callable[[], Bite]


def try_faults(  # noqa: PLR0917 what a trial depends on
    runner: TestRunner, new: Codebase, old: Codebase, pair: Pair, tests: tuple[str, ...],
    restore: Mapping[str, str], most: int, *, ways: bool = True,
) -> Trial | None:  # fmt: skip
    """On what `new` has and `old` has not. None where no test is known that could notice.

    `ways`: the tests are run in other circumstances too.
    """
    if not tests:
        return None
    plan = plan_of(new, old, pair, tests, most)
    if plan.is_empty:
        return Trial(tests, Bite, Bite, Bite)
    request = BiteRequest(new.tree, tests, plan, most, restore, ways, OTHER_SEED if ways else 0)

    def again(hash_seed: int = request.hash_seed) -> Bite:
        return runner.start_bite(replace(request, hash_seed=hash_seed))()

    return Trial(tests, runner.start_bite(request), again, partial(again, 0))


def once_more(trial: Trial) -> Bite:
    """It came to nothing, though all tests pass in the whole suite: something was in its way, or it is the seed."""
    bite = trial.again()
    if not bite.problems:
        return bite
    seeded = trial.as_the_suite()
    if seeded.problems:
        return bite
    failed = tuple(test for test in trial.tests if any(test in problem for problem in bite.problems))
    way = Way(name="hash_seed", outcome="failed", tests=failed)
    return seeded.model_copy(update={"ways": tuple(sorted([*seeded.ways, way], key=lambda each: each.name))})


def plan_of(new: Codebase, old: Codebase, pair: Pair, tests: tuple[str, ...], most: int) -> BitePlan:
    changed = {change.path for change in pair.changes if change.kind is PathKind.SOURCE}
    before, after = ({path: text for path, text in side.source_texts.items() if path in changed} for side in (old, new))
    files = {test.partition("::")[0] for test in tests}
    wanted = {path: text for path, text in pair.base.test_texts.items() if path in files}
    return bite_plan(before, after, wanted, seed=new.tree, most=most)
