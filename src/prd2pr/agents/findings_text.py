"""Test runs and gate findings as text for a role, with repetitions merged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from prd2pr.domain.evidence import Failure, Finding, TestResult

MAX_NAMED = 4  # number of tests to name if several have the same failure


# --- test runs --------------------------------------------------------------------------------------------------------


def format_failures(results: Iterable[TestResult]) -> list[str]:
    """List each test that did not pass, with the reason. Tests with the same reason share one line."""
    alike: dict[tuple[str, str], list[TestResult]] = {}
    for result in results:
        if result.outcome != "passed":
            alike.setdefault((result.outcome, _failure_reason(result.failure)), []).append(result)
    return [_format_group(tests, why) for (_, why), tests in alike.items()]


def format_failure(failure: Failure) -> str:
    """Format one failure, with its location first because the message can be long."""
    location = f"at {failure.path}:{failure.line}, " if failure.path else ""
    return f"{location}{_failure_reason(failure)}"


def _format_group(tests: Sequence[TestResult], why: str) -> str:
    first = tests[0]
    if len(tests) == 1:
        return f"{first.outcome} {first.id}{_format_line(first)}{': ' + why if why else ''}"
    ids = [test.id for test in tests]
    uncollected = first.failure is not None and first.failure.stage == "collect"
    which = (
        f"all {len(ids)} tests of {_list_files(ids)}"
        if uncollected
        else f"{len(ids)} tests alike, {abbreviate_test_ids(ids)}"
    )
    return f"{first.outcome} {which}{': ' + why if why else ''}"


def _format_line(result: TestResult) -> str:
    failure = result.failure
    if failure is None or not failure.path:
        return ""
    own = result.id.partition("::")[0] == failure.path
    return f" (line {failure.line})" if own else f" (at {failure.path}:{failure.line})"


# A compiler error has no exception class, so these names stand for its kinds.
_COMPILER_KINDS = frozenset({"undefined", "import", "build"})


def _failure_reason(failure: Failure | None) -> str:
    if failure is None:
        return ""
    if failure.exception in _COMPILER_KINDS:
        return f"cannot be built: {failure.message}"
    stage = "" if failure.stage == "call" else f"in {failure.stage}, "
    return f"{stage}{failure.exception or failure.kind}: {failure.message}"


def _list_files(ids: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(test.partition("::")[0] for test in ids))


def abbreviate_test_ids(ids: Sequence[str]) -> str:
    """Shorten test ids to `tests/test_a.py::test_x, ::test_y and 3 more`, naming each file once."""
    shown: list[str] = []
    file = ""
    for test in ids[:MAX_NAMED]:
        path, _, name = test.partition("::")
        shown.append(f"::{name}" if path == file else test)
        file = path
    more = f" and {len(ids) - MAX_NAMED} more" if len(ids) > MAX_NAMED else ""
    return ", ".join(shown) + more


# --- findings ---------------------------------------------------------------------------------------------------------


def format_findings(findings: Iterable[Finding], run: str = "") -> list[str]:
    """List findings, errors first and without duplicates, omitting text that the test `run` also shows."""
    useful = [finding for finding in findings if not _is_about_machine(finding)]
    alike: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in sorted(useful, key=lambda finding: finding.severity != "error"):
        text = _shorten_message(finding, run) or finding.message
        alike.setdefault((finding.code, finding.severity, text), []).append(finding)
    return [f"{code} {severity}: {text}{_format_location(same, run)}" for (code, severity, text), same in alike.items()]


def _is_about_machine(finding: Finding) -> bool:
    """Return whether a finding concerns the machine that ran the tests, which no role can fix."""
    return finding.severity == "warning" and finding.code.startswith("RUN")


def _shorten_message(finding: Finding, run: str) -> str:
    """Shorten `failed: AssertionError assert 1 == 2` to `failed` if the run shows the rest, or else return ""."""
    head, colon, why = finding.message.partition(": ")
    words = why.partition(" ")[2] or why
    return head if finding.test and colon and words and words in run else ""


def _format_location(findings: Sequence[Finding], run: str) -> str:
    tests = list(dict.fromkeys(finding.test for finding in findings if finding.test))
    if tests and all(_shorten_message(finding, run) for finding in findings):
        return f" [{len(tests)} test{'s' if len(tests) > 1 else ''}, see the test run]"
    if tests:
        line = f", line {findings[0].line}" if len(findings) == 1 and findings[0].line else ""
        return f" [{abbreviate_test_ids(tests)}{line}]"
    places = dict.fromkeys(_format_place(finding) for finding in findings if finding.path)
    return f" [{', '.join(list(places)[:MAX_NAMED])}]" if places else ""


def _format_place(finding: Finding) -> str:
    return f"{finding.path}:{finding.line}" if finding.line else finding.path
