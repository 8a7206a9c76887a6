"""Start mutation testing of a step alongside the run of the whole suite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from prd2pr.domain.results.mutation import MutationResult, TestVariation
from prd2pr.languages.mutation_plan import MutationPlan
from prd2pr.languages.test_runner import OTHER_SEED, MutationRequest, TestRunner

MUTANTS = 40


@dataclass(frozen=True)
class MutationTrial:
    """Mutation testing in progress. `wait` returns the result.

    `run_again` repeats it if another process interfered, and `run_with_suite_seed` repeats it with the suite's hash
    seed.
    """

    tests: tuple[str, ...]
    wait: Callable[[], MutationResult]
    run_again: Callable[[], MutationResult]
    run_with_suite_seed: Callable[[], MutationResult]


def start_mutation_trial(  # noqa: PLR0917 everything that a trial depends on
    runner: TestRunner, plan: MutationPlan, tree: str, tests: tuple[str, ...],
    restore: Mapping[str, str], most: int, *, ways: bool,
) -> MutationTrial:  # fmt: skip
    """Start trying the faults of the plan in the tree. With `ways`, the tests also run in other circumstances."""
    if plan.is_empty:
        return MutationTrial(tests, MutationResult, MutationResult, MutationResult)
    request = MutationRequest(tree, tests, plan, most, restore, ways, OTHER_SEED if ways else 0)

    def run_again(hash_seed: int = request.hash_seed) -> MutationResult:
        return runner.start_mutation_run(replace(request, hash_seed=hash_seed))()

    return MutationTrial(tests, runner.start_mutation_run(request), run_again, partial(run_again, 0))


def repeat_trial(trial: MutationTrial) -> MutationResult:
    """Repeat a trial that failed although the suite passes.

    Either another process interfered, or the tests depend on the hash seed.
    """
    mutation = trial.run_again()
    if not mutation.problems:
        return mutation
    seeded = trial.run_with_suite_seed()
    if seeded.problems:
        return mutation
    failed = tuple(test for test in trial.tests if any(test in problem for problem in mutation.problems))
    way = TestVariation(name="hash_seed", outcome="failed", tests=failed)
    return seeded.model_copy(update={"ways": tuple(sorted([*seeded.ways, way], key=lambda each: each.name))})
