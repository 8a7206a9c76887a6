"""Test runs and findings in the words that a role needs: each thing said once. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from prd2pr.core.evidence import Failure, Finding, TestResult

NAMED = 4  # of tests that say the same, this many are named


# --- a run ------------------------------------------------------------------------------------------------------------


def failure_lines(results: Iterable[TestResult]) -> list[str]:
    """Each test that did not pass and why; tests that fail in the same words share one line."""
    alike: dict[tuple[str, str], list[TestResult]] = {}
    for result in results:
        if result.outcome != "passed":
            alike.setdefault((result.outcome, _words(result.failure)), []).append(result)
    return [_told(tests, why) for (_, why), tests in alike.items()]


def why_failed(failure: Failure) -> str:
    """With the place first: a message can be long."""
    at = f"at {failure.path}:{failure.line}, " if failure.path else ""
    return f"{at}{_words(failure)}"


def _told(tests: Sequence[TestResult], why: str) -> str:
    first = tests[0]
    if len(tests) == 1:
        return f"{first.outcome} {first.id}{_line(first)}{': ' + why if why else ''}"
    ids = [test.id for test in tests]
    uncollected = first.failure is not None and first.failure.stage == "collect"
    which = f"all {len(ids)} tests of {_files(ids)}" if uncollected else f"{len(ids)} tests alike, {named(ids)}"
    return f"{first.outcome} {which}{': ' + why if why else ''}"


def _line(result: TestResult) -> str:
    failure = result.failure
    if failure is None or not failure.path:
        return ""
    own = result.id.partition("::")[0] == failure.path
    return f" (line {failure.line})" if own else f" (at {failure.path}:{failure.line})"


# What a compiler says bears no class of an error; these are our words for its kinds.
_COMPILERS = frozenset({"undefined", "import", "build"})


def _words(failure: Failure | None) -> str:
    if failure is None:
        return ""
    if failure.exception in _COMPILERS:
        return f"cannot be built: {failure.message}"
    stage = "" if failure.stage == "call" else f"in {failure.stage}, "
    return f"{stage}{failure.exception or failure.kind}: {failure.message}"


def _files(ids: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(test.partition("::")[0] for test in ids))


def named(ids: Sequence[str]) -> str:
    """`tests/test_a.py::test_x, ::test_y and 3 more`: a file's name once is enough."""
    shown: list[str] = []
    file = ""
    for test in ids[:NAMED]:
        path, _, name = test.partition("::")
        shown.append(f"::{name}" if path == file else test)
        file = path
    more = f" and {len(ids) - NAMED} more" if len(ids) > NAMED else ""
    return ", ".join(shown) + more


# --- what a gate said -------------------------------------------------------------------------------------------------


def finding_lines(findings: Iterable[Finding], run: str = "") -> list[str]:
    """Errors first, equal ones once. What the text of the `run`, shown beside them, says as well is not repeated."""
    useful = [finding for finding in findings if not _is_beyond_reach(finding)]
    alike: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in sorted(useful, key=lambda finding: finding.severity != "error"):
        text = _unsaid(finding, run) or finding.message
        alike.setdefault((finding.code, finding.severity, text), []).append(finding)
    return [f"{code} {severity}: {text}{_where(same, run)}" for (code, severity, text), same in alike.items()]


def _is_beyond_reach(finding: Finding) -> bool:
    """About the machine that the tests ran on: no role can mend that."""
    return finding.severity == "warning" and finding.code.startswith("RUN")


def _unsaid(finding: Finding, run: str) -> str:
    """`failed: AssertionError assert 1 == 2` is `failed` where the run tells the rest; empty where it does not."""
    head, colon, why = finding.message.partition(": ")
    words = why.partition(" ")[2] or why
    return head if finding.test and colon and words and words in run else ""


def _where(findings: Sequence[Finding], run: str) -> str:
    tests = list(dict.fromkeys(finding.test for finding in findings if finding.test))
    if tests and all(_unsaid(finding, run) for finding in findings):
        return f" [{len(tests)} test{'s' if len(tests) > 1 else ''}, see the test run]"
    if tests:
        line = f", line {findings[0].line}" if len(findings) == 1 and findings[0].line else ""
        return f" [{named(tests)}{line}]"
    places = dict.fromkeys(_place(finding) for finding in findings if finding.path)
    return f" [{', '.join(list(places)[:NAMED])}]" if places else ""


def _place(finding: Finding) -> str:
    return f"{finding.path}:{finding.line}" if finding.line else finding.path


def joined(lines: Iterable[str], limit: int) -> Iterator[str]:
    """As many of the lines, in order, as fit; then how many are left out."""
    used, left = 0, 0
    for line in lines:
        if left or used + len(line) > limit:
            left += 1
            continue
        used += len(line) + 1
        yield line
    if left:
        yield f"… and {left} more"
