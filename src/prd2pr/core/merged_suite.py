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
