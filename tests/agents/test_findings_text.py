"""Texts about runs and findings, without repetition."""

from __future__ import annotations

from prd2pr.agents.findings_text import abbreviate_test_ids, format_failures, format_findings
from prd2pr.domain.evidence import Failure, FailureKind, Finding, Outcome, TestResult
from prd2pr.domain.wording import limit_lines


def result(name: str, message: str = "", *, stage: str = "call", outcome: Outcome = "failed") -> TestResult:
    failure = Failure.model_validate(
        {"kind": FailureKind.ASSERTION, "stage": stage, "exception": "AssertionError", "message": message}
    )
    return TestResult(id=name, outcome=outcome, failure=failure)


def finding(code: str, message: str, test: str = "", **more: object) -> Finding:
    return Finding.model_validate({"code": code, "severity": "error", "message": message, "test": test, **more})


def test_tests_with_the_same_failure_share_a_line() -> None:
    results = [result(f"t/a.py::test_{n}", "assert 1 == 2") for n in range(6)]
    assert format_failures([*results, result("t/a.py::test_other", "assert 3 == 4")]) == [
        "failed 6 tests alike, t/a.py::test_0, ::test_1, ::test_2, ::test_3 and 2 more: AssertionError: assert 1 == 2",
        "failed t/a.py::test_other: AssertionError: assert 3 == 4",
    ]


def test_a_module_that_cannot_be_imported_is_one_line() -> None:
    results = [result(f"t/a.py::test_{n}", "No module named 'x'", stage="collect", outcome="error") for n in range(9)]
    assert format_failures(results) == ["error all 9 tests of t/a.py: in collect, AssertionError: No module named 'x'"]


def test_passed_tests_are_omitted_and_skipped_ones_listed() -> None:
    assert format_failures([TestResult(id="t/a.py::test_x", outcome="passed")]) == []
    assert format_failures([TestResult(id="t/a.py::test_x", outcome="skipped")]) == ["skipped t/a.py::test_x"]


def test_location_of_a_single_failure_is_shown() -> None:
    failure = Failure(
        kind=FailureKind.EXCEPTION, stage="call", exception="KeyError", message="'a'", path="a.py", line=3
    )
    lines = format_failures([TestResult(id="t/a.py::test_x", outcome="failed", failure=failure)])
    assert lines == ["failed t/a.py::test_x (at a.py:3): KeyError: 'a'"]
    own = failure.model_copy(update={"path": "t/a.py"})
    lines = format_failures([TestResult(id="t/a.py::test_x", outcome="failed", failure=own)])
    assert lines == ["failed t/a.py::test_x (line 3): KeyError: 'a'"]


def test_findings_are_grouped_errors_first() -> None:
    warning = Finding(code="RED401", severity="warning", message="one assert only", path="t/a.py", line=4)
    passes = [finding("RED302", "passes already", f"t/a.py::test_{n}") for n in range(2)]
    assert format_findings([warning, *passes]) == [
        "RED302 error: passes already [t/a.py::test_0, ::test_1]",
        "RED401 warning: one assert only [t/a.py:4]",
    ]


def test_findings_that_repeat_the_run_are_omitted() -> None:
    failed = [finding("GRN302", f"failed: AssertionError assert {n} == 9", f"t/a.py::test_{n}") for n in range(2)]
    run = "\n".join(format_failures(result(f"t/a.py::test_{n}", f"assert {n} == 9") for n in range(2)))
    assert format_findings(failed, run) == ["GRN302 error: failed [2 tests, see the test run]"]
    assert format_findings(failed[:1]) == ["GRN302 error: failed: AssertionError assert 0 == 9 [t/a.py::test_0]"]


def test_only_run_warnings_are_not_actionable() -> None:
    warning = Finding(code="RUN104", severity="warning", message="no sandbox")
    assert format_findings([warning, finding("RUN101", "not honest")]) == ["RUN101 error: not honest"]


def test_a_finding_names_its_line() -> None:
    assert format_findings([finding("RED301", "asserts nothing", "t/a.py::test_x", path="t/a.py", line=7)]) == [
        "RED301 error: asserts nothing [t/a.py::test_x, line 7]"
    ]


def test_omitted_rows_are_counted() -> None:
    assert list(limit_lines(["aaaa", "bbbb", "c"], 6)) == ["aaaa", "… and 2 more"]
    assert list(limit_lines(["aaaa"], 6)) == ["aaaa"]


def test_consecutive_findings_name_their_file_once() -> None:
    assert abbreviate_test_ids(["a.py::x", "a.py::y", "b.py::z"]) == "a.py::x, ::y, b.py::z"
