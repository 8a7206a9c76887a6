"""A test run in the words that a role needs: the counts, then each test that did not pass and why."""

from __future__ import annotations

from collections import Counter

from prd2pr.core.context import trim
from prd2pr.core.evidence import Failure, RunReport, TestResult

MAX_TEXT = 8_000
MAX_TESTS = 25


def run_text(report: RunReport) -> str:
    failing = [result for result in report.results if result.outcome != "passed"]
    lines = [
        _counts(report),
        *(f"The run cannot be trusted: {problem}" for problem in report.problems),
        *(f"collection: {_why(failure)}" for failure in report.collect_errors[:MAX_TESTS]),
        *(_line(result) for result in failing[:MAX_TESTS]),
        *([f"… and {len(failing) - MAX_TESTS} more that did not pass"] if len(failing) > MAX_TESTS else []),
    ]
    return trim("\n".join(lines), MAX_TEXT)


def _counts(report: RunReport) -> str:
    if not report.results:
        return "No test was collected."
    counted = Counter(result.outcome for result in report.results)
    parts = ", ".join(f"{number} {outcome}" for outcome, number in counted.most_common())
    return f"{len(report.results)} tests: {parts}."


def _line(result: TestResult) -> str:
    return f"{result.outcome} {result.id}{': ' + _why(result.failure) if result.failure else ''}"


def _why(failure: Failure) -> str:
    at = f" (at {failure.path}:{failure.line})" if failure.path else ""
    stage = "" if failure.stage == "call" else f"in {failure.stage}, "
    return f"{stage}{failure.exception or failure.kind}: {failure.message}{at}"
