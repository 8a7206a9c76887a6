"""Runs, made small for keeping and set against each other. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from prd2pr.core.evidence import Comparison, RunReport, RunSummary, TestResult


def summarise(report: RunReport, story_ids: Iterable[str]) -> RunSummary:
    """Story tests whole; of the others only what did not pass; of all ids a digest."""
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
        story=_sorted(result for result in report.results if result.id in story),
        others_not_passed=_sorted(
            result for result in report.results if result.id not in story and result.outcome != "passed"
        ),
        collect_errors=report.collect_errors,
        ids_digest=hashlib.sha256("\n".join(ids).encode("utf-8", "surrogateescape")).hexdigest(),
    )


def compare(base: RunReport, head: RunReport, moved: Mapping[str, str] | None = None) -> Comparison:
    """What was and what is. `moved` leads from old test files to new ones: their tests keep their history."""
    before = {moved_id(test, moved or {}): result for test, result in base.by_id().items()}
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


def moved_id(test: str, moved: Mapping[str, str]) -> str:
    path, separator, rest = test.partition("::")
    return moved.get(path, path) + separator + rest


def bare_id(test: str) -> str:
    """Without parameters, as the AST knows it."""
    path, separator, rest = test.partition("::")
    return path + separator + rest.partition("[")[0]


def expanded(ids: Iterable[str], report: RunReport) -> tuple[str, ...]:
    """Ids as this run knows them. A module that could not be imported has no parameters yet; later each has its id.

    An id that the run does not know in any form stays as it is: that it is missing must be seen.
    """
    known = report.by_id()
    by_bare: dict[str, list[str]] = {}
    for test in known:
        by_bare.setdefault(bare_id(test), []).append(test)
    found: list[str] = []
    for test in ids:
        found += [test] if test in known or test not in by_bare else by_bare[test]
    return tuple(dict.fromkeys(found))


def _count(report: RunReport, *outcomes: str) -> int:
    return sum(result.outcome in outcomes for result in report.results)


def _sorted(results: Iterable[TestResult]) -> tuple[TestResult, ...]:
    return tuple(sorted(results, key=lambda result: result.id))
