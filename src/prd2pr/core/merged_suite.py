"""Two sides, each with its own proof or history, and what git made of both: whether the suite still holds."""

from __future__ import annotations

from collections.abc import Iterable

from prd2pr.core.evidence import RunReport
from prd2pr.core.out_of_time import lacked_time


def broken_by_merge(sides: Iterable[RunReport], merged: RunReport) -> tuple[str, ...]:
    """Why the merge does not hold; empty: what passed on either side passes now. What a side took away is gone."""
    sides = tuple(sides)
    passed = {result.id for side in sides for result in side.results if result.outcome == "passed"}
    broken = broken_before(sides, {test.partition("::")[0] for test in passed})
    errors = (failure for failure in merged.collect_errors if failure.path not in broken)
    uncollected = tuple(f"{failure.path} cannot be collected" for failure in errors)
    lost = (result for result in merged.results if result.id in passed and result.outcome != "passed")
    nothing = () if merged.results or not passed else ("no test was collected",)
    # Of a side whose run was stopped nobody knows what passed there.
    unknown = (problem for side in sides for problem in side.problems if lacked_time([problem]))
    return (*unknown, *merged.problems, *uncollected, *(f"{result.id} {result.outcome}" for result in lost), *nothing)


def broken_before(sides: tuple[RunReport, ...], passing: set[str]) -> set[str]:
    """Files that one side could not collect either, as RED leaves them; none of whose tests passed on the other."""
    return {failure.path for side in sides for failure in side.collect_errors} - passing


def passed_and_gone(side: RunReport, merged: RunReport) -> tuple[str, ...]:
    """Tests that passed on a side, and of which the merge's run knows nothing."""
    there = tests_of(merged)
    return tuple(result.id for result in side.results if result.outcome == "passed" and result.id not in there)


def lost_by_join(left: RunReport, ours: RunReport, theirs: RunReport, merged: RunReport) -> tuple[str, ...]:
    """Tests that are gone although neither side took them away: what a side never had it cannot have taken away."""
    unknown = tuple(problem for problem in left.problems if lacked_time([problem]))
    sides = (
        (passed_and_gone(ours, merged), tests_of(left) - tests_of(theirs)),
        (passed_and_gone(theirs, merged), tests_of(left) - tests_of(ours)),
    )
    lost = (test for gone, taken_away in sides for test in gone if test not in taken_away)
    return unknown or tuple(f"{test} is not run any more" for test in dict.fromkeys(lost))


def tests_of(report: RunReport) -> set[str]:
    return {result.id for result in report.results}
