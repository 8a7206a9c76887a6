"""Mutation testing of a step for Python, started next to the run of the whole suite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from prd2pr.domain.evidence import PathKind
from prd2pr.domain.results.mutation import MutationResult, TestVariation
from prd2pr.languages.mutation_plan import MutationPlan
from prd2pr.languages.python.mutation.plan import plan_mutations
from prd2pr.languages.test_runner import OTHER_SEED, MutationRequest, TestRunner
from prd2pr.verification.codebase import Codebase, TreePair

MUTANTS = 40


@dataclass(frozen=True)
class MutationTrial:
    """Mutation testing in progress. `wait` returns the result.

    `run_again` repeats it after interference by another process; `run_with_suite_seed` with the hash seed of the suite.
    """

    tests: tuple[str, ...]
    wait: Callable[[], MutationResult]
    run_again: Callable[[], MutationResult]
    run_with_suite_seed: Callable[[], MutationResult]


def start_mutation_trial(  # noqa: PLR0917 what a trial depends on
    runner: TestRunner, new: Codebase, old: Codebase, pair: TreePair, tests: tuple[str, ...],
    restore: Mapping[str, str], most: int, *, ways: bool = True,
) -> MutationTrial | None:  # fmt: skip
    """Start mutating the code that `new` adds to `old`; None without tests.

    `ways`: also run the tests in other circumstances.
    """
    if not tests:
        return None
    plan = build_mutation_plan(new, old, pair, tests, most)
    if plan.is_empty:
        return MutationTrial(tests, MutationResult, MutationResult, MutationResult)
    request = MutationRequest(new.tree, tests, plan, most, restore, ways, OTHER_SEED if ways else 0)

    def run_again(hash_seed: int = request.hash_seed) -> MutationResult:
        return runner.start_mutation_run(replace(request, hash_seed=hash_seed))()

    return MutationTrial(tests, runner.start_mutation_run(request), run_again, partial(run_again, 0))


def repeat_trial(trial: MutationTrial) -> MutationResult:
    """Repeat a trial that failed although the suite passes: another process interfered, or it is the hash seed."""
    mutation = trial.run_again()
    if not mutation.problems:
        return mutation
    seeded = trial.run_with_suite_seed()
    if seeded.problems:
        return mutation
    failed = tuple(test for test in trial.tests if any(test in problem for problem in mutation.problems))
    way = TestVariation(name="hash_seed", outcome="failed", tests=failed)
    return seeded.model_copy(update={"ways": tuple(sorted([*seeded.ways, way], key=lambda each: each.name))})


def build_mutation_plan(
    new: Codebase, old: Codebase, pair: TreePair, tests: tuple[str, ...], most: int
) -> MutationPlan:
    changed = {change.path for change in pair.changes if change.kind is PathKind.SOURCE}
    before, after = ({path: text for path, text in side.source_texts.items() if path in changed} for side in (old, new))
    files = {test.partition("::")[0] for test in tests}
    wanted = {path: text for path, text in pair.base.test_texts.items() if path in files}
    return plan_mutations(before, after, wanted, seed=new.tree, most=most)
