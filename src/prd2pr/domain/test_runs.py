"""Summarize and compare test runs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from prd2pr.domain.evidence import Comparison, RunReport, RunSummary, TestResult


def summarize_run(report: RunReport, story_ids: Iterable[str]) -> RunSummary:
    """Summarize a run: all story tests, the other tests that did not pass, and a digest of all ids."""
    story = set(story_ids)
    ids = sorted(result.id for result in report.results)
    return RunSummary(
        collected=len(ids),
        passed=_count(report, "passed"),
        failed=_count(report, "failed", "xpassed"),
        errors=_count(report, "error"),
        skipped=_count(report, "skipped", "xfailed"),
        seconds=report.seconds,
        exit_status=report.exit_status,
        sandbox=report.sandbox,
        honest=report.honest,
        problems=report.problems,
        tools=report.tools,
        story=_sort_by_id(result for result in report.results if result.id in story),
        others_not_passed=_sort_by_id(
            result for result in report.results if result.id not in story and result.outcome != "passed"
        ),
        collect_errors=report.collect_errors,
        ids_digest=hashlib.sha256("\n".join(ids).encode("utf-8", "surrogateescape")).hexdigest(),
    )


def compare_base_with_head(base: RunReport, head: RunReport, moved: Mapping[str, str] | None = None) -> Comparison:
    """Compare the base run with the head run. `moved` maps old test files to new ones."""
    before = {map_moved_id(test, moved or {}): result for test, result in base.by_id().items()}
    after = head.by_id()
    passed = [test for test, result in before.items() if result.outcome == "passed"]
    ran = {test for test, result in after.items() if result.outcome not in {"skipped", "xfailed"}}
    return Comparison(
        collected_before=len(before),
        collected_after=len(after),
        regressed=tuple(sorted(test for test in passed if test in ran and after[test].outcome != "passed")),
        vanished=tuple(sorted(test for test in passed if test not in ran)),
        appeared=tuple(sorted(set(after) - set(before))),
    )


def map_moved_id(test: str, moved: Mapping[str, str]) -> str:
    path, separator, rest = test.partition("::")
    return moved.get(path, path) + separator + rest


def strip_test_parameters(test: str) -> str:
    """Return the test's id without parameters, as in the AST."""
    path, separator, rest = test.partition("::")
    return path + separator + rest.partition("[")[0]


def expand_test_ids(ids: Iterable[str], report: RunReport) -> tuple[str, ...]:
    """Replace ids without parameters by the ids of all their cases in this run.

    An id that does not occur in the run is kept, so that the missing test is noticed.
    """
    known = report.by_id()
    by_bare: dict[str, list[str]] = {}
    for test in known:
        by_bare.setdefault(strip_test_parameters(test), []).append(test)
    found: list[str] = []
    for test in ids:
        found += [test] if test in known or test not in by_bare else by_bare[test]
    return tuple(dict.fromkeys(found))


def find_unavailable_cases(tests: Iterable[str], report: RunReport, earlier: RunReport) -> frozenset[str]:
    """Return the skipped cases of tests whose parameter is not available on this machine.

    This is the case if other cases of the test are not skipped, and all cases with the parameter were skipped earlier
    too. Fixtures skip such cases, for example for a backend that is not installed.
    """
    known = report.by_id()
    skipped = {test for test in tests if "[" in test and test in known and known[test].outcome == "skipped"}
    active = {strip_test_parameters(test) for test, result in known.items() if result.outcome != "skipped"}
    return frozenset(
        test
        for test in skipped
        if strip_test_parameters(test) in active
        and any(_is_always_skipped(parameter, earlier) for parameter in _split_parameters(test))
    )


def _is_always_skipped(parameter: str, report: RunReport) -> bool:
    outcomes = {result.outcome for result in report.results if parameter in _split_parameters(result.id)}
    return outcomes == {"skipped"}


def _split_parameters(test: str) -> list[str]:
    return test.partition("[")[2].removesuffix("]").split("-") if "[" in test else []


def _count(report: RunReport, *outcomes: str) -> int:
    return sum(result.outcome in outcomes for result in report.results)


def _sort_by_id(results: Iterable[TestResult]) -> tuple[TestResult, ...]:
    return tuple(sorted(results, key=lambda result: result.id))
