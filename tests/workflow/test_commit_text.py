"""The texts of the bot's commits and log lines, derived from facts."""

from __future__ import annotations

from prd2pr.domain.evidence import Evidence, Failure, FailureKind, RunSummary, TestResult
from prd2pr.domain.records import Phase, Story
from prd2pr.workflow.commits.text import format_improvement_text, format_phase_message, format_phase_outcome


def run(*results: TestResult, others: int = 0) -> RunSummary:
    passed = sum(result.outcome == "passed" for result in results) + others
    return RunSummary(
        collected=len(results) + others, passed=passed, failed=0, errors=0, skipped=0, seconds=1, exit_status=1,
        sandbox="none", honest=True, story=results,
    )  # fmt: skip


def failing(name: str, kind: FailureKind) -> TestResult:
    return TestResult(id=name, outcome="failed", failure=Failure(kind=kind, stage="call"))


STORY = Story(id="loyalty-1", epic="E1", title="Earn points")


def test_red_message_states_why_the_tests_fail():
    results = (failing("t.py::a", FailureKind.ASSERTION), failing("t.py::b", FailureKind.MISSING_SYMBOL))
    evidence = Evidence(phase=Phase.RED, head_run=run(*results))
    subject, body = format_phase_message(STORY, evidence, "", "", None)
    assert subject == "red(loyalty-1): Earn points"
    assert body.startswith("2 tests fail as expected: 1 on an assertion, 1 because what was planned does")
    assert format_phase_outcome(evidence, "") == "2 tests fail as expected"


def test_cases_and_tests_are_counted_separately():
    results = [TestResult(id=f"t.py::a[{n}]", outcome="passed") for n in range(3)]
    evidence = Evidence(phase=Phase.GREEN, head_run=run(*results, others=5))
    assert format_phase_outcome(evidence, "") == "1 test passes in 3 cases, 5 others pass"


def test_refactoring_message_states_the_improvement():
    measures = {"before": {"complexity_sum": 9, "lines": 40}, "after": {"complexity_sum": 6, "lines": 44}}
    evidence = Evidence(phase=Phase.REFACTOR, head_run=run(others=4), improvement=measures)
    assert format_improvement_text(evidence) == "complexity 9 → 6"


def test_long_title_is_complete_in_the_wrapped_body():
    long = Story(id="loyalty-1", epic="E1", title="A very long title that says " + "more and " * 10 + "more")
    subject, body = format_phase_message(
        long, Evidence(phase=Phase.GREEN, head_run=run(others=1)), "word " * 60, "", None
    )
    assert len(subject) <= 72 and subject.endswith("…")
    assert long.title in body.replace("\n", " ")
    assert max(map(len, body.splitlines())) <= 76
