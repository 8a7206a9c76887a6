"""Compare the test run of a merge with the runs of its parents."""

from __future__ import annotations

from collections.abc import Iterable

from prd2pr.domain.evidence import RunReport
from prd2pr.domain.timeouts import has_timeout


def find_merge_breakage(sides: Iterable[RunReport], merged: RunReport) -> tuple[str, ...]:
    """Explain why the merge is broken.

    The result is empty if every test that passed on a side and still exists passes.
    """
    sides = tuple(sides)
    passed = {result.id for side in sides for result in side.results if result.outcome == "passed"}
    broken = _find_files_broken_before(sides, {test.partition("::")[0] for test in passed})
    errors = (failure for failure in merged.collect_errors if failure.path not in broken)
    uncollected = tuple(f"{failure.path} cannot be collected" for failure in errors)
    lost = (result for result in merged.results if result.id in passed and result.outcome != "passed")
    nothing = () if merged.results or not passed else ("no test was collected",)
    # The passing tests of a side whose run timed out are unknown.
    unknown = (problem for side in sides for problem in side.problems if has_timeout([problem]))
    return (*unknown, *merged.problems, *uncollected, *(f"{result.id} {result.outcome}" for result in lost), *nothing)


def _find_files_broken_before(sides: tuple[RunReport, ...], passing: set[str]) -> set[str]:
    """Return the files that a side could not collect either, as after RED, and whose tests passed on neither side."""
    return {failure.path for side in sides for failure in side.collect_errors} - passing


def find_vanished_passes(side: RunReport, merged: RunReport) -> tuple[str, ...]:
    """Return the tests that passed on a side and are missing from the merge's run."""
    there = _collect_test_ids(merged)
    return tuple(result.id for result in side.results if result.outcome == "passed" and result.id not in there)


def find_tests_lost_by_join(left: RunReport, ours: RunReport, theirs: RunReport, merged: RunReport) -> tuple[str, ...]:
    """Return the tests that vanished although neither side removed them. A side cannot remove a test it never had."""
    unknown = tuple(problem for problem in left.problems if has_timeout([problem]))
    sides = (
        (find_vanished_passes(ours, merged), _collect_test_ids(left) - _collect_test_ids(theirs)),
        (find_vanished_passes(theirs, merged), _collect_test_ids(left) - _collect_test_ids(ours)),
    )
    lost = (test for gone, taken_away in sides for test in gone if test not in taken_away)
    return unknown or tuple(f"{test} is no longer run" for test in dict.fromkeys(lost))


def _collect_test_ids(report: RunReport) -> set[str]:
    return {result.id for result in report.results}
