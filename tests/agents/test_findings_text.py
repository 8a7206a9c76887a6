"""Runs and findings, each thing said once."""

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


def test_tests_that_fail_in_the_same_words_share_a_line() -> None:
    results = [result(f"t/a.py::test_{n}", "assert 1 == 2") for n in range(6)]
    assert format_failures([*results, result("t/a.py::test_other", "assert 3 == 4")]) == [
        "failed 6 tests alike, t/a.py::test_0, ::test_1, ::test_2, ::test_3 and 2 more: AssertionError: assert 1 == 2",
        "failed t/a.py::test_other: AssertionError: assert 3 == 4",
    ]


def test_a_module_that_cannot_be_imported_is_one_line() -> None:
    results = [result(f"t/a.py::test_{n}", "No module named 'x'", stage="collect", outcome="error") for n in range(9)]
    assert format_failures(results) == ["error all 9 tests of t/a.py: in collect, AssertionError: No module named 'x'"]


def test_passed_tests_are_not_told_and_skipped_ones_are() -> None:
    assert format_failures([TestResult(id="t/a.py::test_x", outcome="passed")]) == []
    assert format_failures([TestResult(id="t/a.py::test_x", outcome="skipped")]) == ["skipped t/a.py::test_x"]


def test_the_place_of_a_single_failure_is_told() -> None:
    failure = Failure(
        kind=FailureKind.EXCEPTION, stage="call", exception="KeyError", message="'a'", path="a.py", line=3
    )
    lines = format_failures([TestResult(id="t/a.py::test_x", outcome="failed", failure=failure)])
    assert lines == ["failed t/a.py::test_x (at a.py:3): KeyError: 'a'"]
    own = failure.model_copy(update={"path": "t/a.py"})
    lines = format_failures([TestResult(id="t/a.py::test_x", outcome="failed", failure=own)])
    assert lines == ["failed t/a.py::test_x (line 3): KeyError: 'a'"]


def test_findings_are_folded_errors_first() -> None:
    warning = Finding(code="RED401", severity="warning", message="one assert only", path="t/a.py", line=4)
    passes = [finding("RED302", "passes already", f"t/a.py::test_{n}") for n in range(2)]
    assert format_findings([warning, *passes]) == [
        "RED302 error: passes already [t/a.py::test_0, ::test_1]",
        "RED401 warning: one assert only [t/a.py:4]",
    ]


def test_what_the_run_says_too_is_left_to_it() -> None:
    failed = [finding("GRN302", f"failed: AssertionError assert {n} == 9", f"t/a.py::test_{n}") for n in range(2)]
    run = "\n".join(format_failures(result(f"t/a.py::test_{n}", f"assert {n} == 9") for n in range(2)))
    assert format_findings(failed, run) == ["GRN302 error: failed [2 tests, see the test run]"]
    assert format_findings(failed[:1]) == ["GRN302 error: failed: AssertionError assert 0 == 9 [t/a.py::test_0]"]


def test_only_warnings_about_the_run_are_beyond_reach() -> None:
    warning = Finding(code="RUN104", severity="warning", message="no sandbox")
    assert format_findings([warning, finding("RUN101", "not honest")]) == ["RUN101 error: not honest"]


def test_a_finding_names_its_line() -> None:
    assert format_findings([finding("RED301", "asserts nothing", "t/a.py::test_x", path="t/a.py", line=7)]) == [
        "RED301 error: asserts nothing [t/a.py::test_x, line 7]"
    ]


def test_what_does_not_fit_is_counted() -> None:
    assert list(limit_lines(["aaaa", "bbbb", "c"], 6)) == ["aaaa", "… and 2 more"]
    assert list(limit_lines(["aaaa"], 6)) == ["aaaa"]


def test_files_are_named_once_in_a_row() -> None:
    assert abbreviate_test_ids(["a.py::x", "a.py::y", "b.py::z"]) == "a.py::x, ::y, b.py::z"
