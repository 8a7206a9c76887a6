"""Two sides, each with its own proof or history, and what git made of both: whether the suite still holds."""

from __future__ import annotations

from collections.abc import Iterable

from prd2pr.core.evidence import RunReport


def broken_by_merge(sides: Iterable[RunReport], merged: RunReport) -> tuple[str, ...]:
    """Why the merge does not hold; empty: what passed on either side passes now. What a side took away is gone."""
    passed = {result.id for side in sides for result in side.results if result.outcome == "passed"}
    uncollected = tuple(f"{failure.path} cannot be collected" for failure in merged.collect_errors)
    lost = (result for result in merged.results if result.id in passed and result.outcome != "passed")
    nothing = () if merged.results or not passed else ("no test was collected",)
    return (*merged.problems, *uncollected, *(f"{result.id} {result.outcome}" for result in lost), *nothing)
