"""A test run in the words that a role needs: the counts, then each test that did not pass and why."""

from __future__ import annotations

from collections import Counter

from prd2pr.core.context import trim
from prd2pr.core.evidence import RunReport
from prd2pr.core.run_words import failure_lines, joined, why_failed

MAX_TEXT = 8_000


def run_text(report: RunReport) -> str:
    told = {result.failure for result in report.results}
    lines = [
        _counts(report),
        *(f"The run cannot be trusted: {problem}" for problem in report.problems),
        *(f"collection: {why_failed(failure)}" for failure in report.collect_errors if failure not in told),
        *failure_lines(report.results),
    ]
    return trim("\n".join(joined(lines, MAX_TEXT)), MAX_TEXT)


def _counts(report: RunReport) -> str:
    if not report.results:
        return "No test was collected."
    counted = Counter(result.outcome for result in report.results)
    parts = ", ".join(f"{number} {outcome}" for outcome, number in counted.most_common())
    return f"{len(report.results)} tests: {parts}."
