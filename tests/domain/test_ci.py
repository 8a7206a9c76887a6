from __future__ import annotations

import pytest

from prd2pr.domain.ci import CheckResult, describe_ci_failure

OURS = CheckResult("prd2pr / red(calc-1)", "failure", app="prd2pr")
BAD = (CheckResult("lint", "failure", app="github-actions"), OURS)
GOOD = (CheckResult("lint", "success", app="github-actions"), OURS)
RUNNING = (CheckResult("lint", "", app="github-actions"),)


@pytest.mark.parametrize(
    ("heads", "blocked"),
    [
        ([], False),
        ([BAD, BAD], False),
        ([BAD, BAD, BAD], True),
        ([BAD, GOOD, BAD, BAD], False),
        ([RUNNING, BAD, (), BAD, (OURS,), BAD], True),
        ([GOOD, BAD, BAD, BAD], False),
        ([(OURS,)] * 5, False),
    ],
)
def test_three_failing_commits_in_a_row_require_a_person(heads: list[tuple[CheckResult, ...]], blocked: bool) -> None:
    assert bool(describe_ci_failure(heads, me="prd2pr")) is blocked


def test_failed_checks_are_named() -> None:
    assert describe_ci_failure([BAD, BAD, BAD], me="prd2pr") == "CI failed on 3 commits in a row: lint"
