"""Old tests that pass now and then: asked again before a step is blamed for them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from prd2pr.core.evidence import Comparison
from prd2pr.ports import RunRequest, TestRunner

TRIES = 8  # a test that fails every other time is told from a broken one but for once in 256
MOST = 20  # tests; where more fail, it is the step
NOTHING: Mapping[str, str] = MappingProxyType({})


def without_unsteady(
    runner: TestRunner,
    comparison: Comparison,
    suspects: tuple[str, ...],
    *,
    base: str,
    head: str,
    restore: Mapping[str, str] = NOTHING,
) -> Comparison:
    """A suspect that passes at the head after all, and fails at the base after all, was unsteady before the step."""
    if not suspects or len(suspects) > MOST:
        return comparison
    passing = _seen(runner, head, suspects, "passed", restore)
    unsteady = _seen(runner, base, tuple(sorted(passing)), "failed") if passing else frozenset()
    if not unsteady:
        return comparison
    kept = tuple(test for test in comparison.regressed if test not in unsteady)
    return comparison.model_copy(update={"regressed": kept, "unsteady": tuple(sorted(unsteady))})


def _seen(
    runner: TestRunner, tree: str, tests: tuple[str, ...], outcome: str, restore: Mapping[str, str] = NOTHING
) -> frozenset[str]:
    """Those of the tests that end so at least once, run by themselves a few times."""
    paths = tuple(sorted({test.partition("::")[0] for test in tests}))
    found: set[str] = set()
    for _ in range(TRIES):
        report = runner.run(RunRequest(tree, paths=paths, restore=restore, afresh=True))
        if report.honest:
            found |= {result.id for result in report.results if result.id in tests and result.outcome == outcome}
        if found >= set(tests):
            break
    return frozenset(found)
