"""Run regressed tests again, so that a step is not blamed for flaky tests."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from prd2pr.domain.evidence import Comparison
from prd2pr.languages.test_runner import RunRequest, TestRunner

TRIES = 8  # a test that fails half of the time fails all of these runs once in 256 cases
MAX_SUSPECTS = 20  # if more tests fail, they are not flaky: the step is to blame
NO_FILES: Mapping[str, str] = MappingProxyType({})


def exclude_flaky_tests(
    runner: TestRunner,
    comparison: Comparison,
    suspects: tuple[str, ...],
    *,
    base: str,
    head: str,
    restore: Mapping[str, str] = NO_FILES,
) -> Comparison:
    """Move suspects that sometimes pass at head and sometimes fail at base from `regressed` to `unsteady`."""
    if not suspects or len(suspects) > MAX_SUSPECTS:
        return comparison
    passing = _find_tests_ending(runner, head, suspects, "passed", restore)
    unsteady = _find_tests_ending(runner, base, tuple(sorted(passing)), "failed") if passing else frozenset()
    if not unsteady:
        return comparison
    kept = tuple(test for test in comparison.regressed if test not in unsteady)
    return comparison.model_copy(update={"regressed": kept, "unsteady": tuple(sorted(unsteady))})


def _find_tests_ending(
    runner: TestRunner, tree: str, tests: tuple[str, ...], outcome: str, restore: Mapping[str, str] = NO_FILES
) -> frozenset[str]:
    """Run the tests a few times and return those that have this outcome at least once."""
    paths = tuple(sorted({test.partition("::")[0] for test in tests}))
    found: set[str] = set()
    for _ in range(TRIES):
        report = runner.run(RunRequest(tree, paths=paths, restore=restore, afresh=True))
        if report.honest:
            found |= {result.id for result in report.results if result.id in tests and result.outcome == outcome}
        if found >= set(tests):
            break
    return frozenset(found)
