"""RED: only tests changed, and the new tests fail for the right reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from prd2pr.domain.evidence import Evidence, Failure, Finding, PathKind, TestResult
from prd2pr.domain.results.finding_kind import FindingKind, define_error, define_strict_error, define_warning
from prd2pr.domain.test_runs import strip_test_parameters
from prd2pr.domain.wording import count, format_pass_count
from prd2pr.languages.hidden_examples import merge_hidden_examples
from prd2pr.verification.gates.changed_tests import check_changed_tests
from prd2pr.verification.gates.common import (
    GatePolicy,
    check_links,
    check_no_regressions,
    check_runs,
    find_results,
    make_finding,
    make_test_finding,
    report_facts,
)
from prd2pr.verification.gates.failure_reason import find_wrong_reason
from prd2pr.verification.gates.hidden_examples import check_criteria_named

FINDINGS: tuple[FindingKind, ...] = (
    define_strict_error(
        "RED101",
        "changes a file that is not a test",
        "The RED commit changes tests only. If source changes with them, it is unclear whether the tests fail "
        "because behavior is missing or because the source was broken.",
        bad="src/shop/points.py changed in the same commit as tests/tdd/loyalty-1/test_earn.py",
        good="the RED commit contains only tests/tdd/loyalty-1/test_earn.py",
        remedy="revert the file; source changes belong to GREEN.",
    ),
    define_strict_error(
        "RED102",
        "changes how tests are run",
        "Test configuration, dependency manifests and CI files decide which tests run and how. A change there can "
        "make any test fail or pass.",
        bad="pytest.ini gains `addopts = --co` in the RED commit",
        good="pytest.ini is unchanged since the base commit",
        remedy="commit the change separately, before the story; RED contains tests only.",
    ),
    define_strict_error(
        "RED103",
        "writes the bot's state or a protected file",
        ".orch-state/ records what the bot has proved, and protected files control the bot and other agents. An "
        "author must not write files by which their own work is judged.",
        bad=".orch-state/prds/loyalty/status.json was edited",
        good="the commit contains tests only; the bot writes its own state",
        remedy="remove the change from this commit.",
    ),
    define_strict_error(
        "RED104",
        "new test passes before any implementation",
        "A test that passes before the behavior exists does not test that behavior: it would also pass if the "
        "story were never built.",
        bad="def test_earn():\n    assert earn(0) is None   # passes: earn() is an empty stub",
        good="def test_earn():\n    assert earn(10) == 2   # fails: earn() returns None",
        remedy="assert on what the story adds; if the behavior already exists, see RED105.",
    ),
    define_strict_error(
        "RED105",
        "every new test passes on the unchanged source",
        "All tests of the story pass without any new source, so they show nothing that is still missing. This is "
        "not RED, and a test must not be made to fail artificially. If the story is already built, it is verified "
        "as it is and the pull request says so. If part of it is missing, no test covers that part yet.",
        bad="12 of 12 new tests pass on the unchanged source",
        good="9 of 12 new tests fail: the behavior that they test is missing",
        remedy="write a test for the missing part; if nothing is missing, keep the tests: the story is verified as it "
        "is.",
    ),
    define_strict_error(
        "RED106",
        "adds a symbolic link, a submodule or an unusual file mode",
        "A symbolic link or a submodule makes a path point outside the commit, so the commit no longer contains "
        "what is tested.",
        bad="tests/data -> /etc",
        good="tests/data/rates.csv, a regular file",
        remedy="commit the file itself.",
    ),
    define_warning(
        "RED108",
        "changes documentation together with the tests",
        "Documentation does no harm here, but RED is easier to review when it contains only tests.",
        bad="README.md changed in RED",
        good="README.md changes in GREEN, or in a separate story",
        remedy="move it to another commit.",
    ),
    define_warning(
        "RED109",
        "a new example of an existing test already passes",
        "An existing test was given more examples. Some of them fail, but this one passes. It may mark the boundary "
        "of the new behavior, but it does not test anything that is missing. In a new test, no example may pass.",
        bad='@pytest.mark.parametrize("n", [4, 5])   # twice(4) is right already\ndef test_twice(n):\n    '
        "assert twice(n) == n + n",
        good='@pytest.mark.parametrize("n", [5, 7])\ndef test_twice(n):\n    assert twice(n) == n + n',
        remedy="keep it if it marks a boundary of what the story changes; otherwise remove it.",
    ),
    define_strict_error(
        "RED201",
        "no new test was collected",
        "pytest found no test of this story, so nothing can be red. Usual reasons: the file or the function is "
        "not named `test_…`, or the file is empty.",
        bad="tests/tdd/loyalty-1/earn_tests.py contains `def earn_test():`",
        good="tests/tdd/loyalty-1/test_earn.py contains `def test_earn():`",
        remedy="name the file test_….py and the functions test_….",
    ),
    define_strict_error(
        "RED204",
        "a new test did not complete",
        "A test that is skipped, xfailed, deselected or missing has not failed, so it proves nothing.",
        bad="tests/test_earn.py::test_earn skipped",
        good="tests/test_earn.py::test_earn failed: assert None == 1",
        remedy="make the test run and fail.",
    ),
    define_error(
        "RED210",
        "no new test names this criterion",
        "Each acceptance criterion needs at least one test that names it, so that every requirement can be traced "
        "to a test.",
        bad="def test_earn_rounds_down():   # criterion loyalty-1.c2 is named nowhere\n    assert earn(9) == 1",
        good="def test_earn_rounds_down():\n"
        '    """loyalty-1.c2: what is left over earns nothing"""\n'
        "    assert earn(9) == 1",
        remedy='write the id into the docstring of the test that covers it: """loyalty-1.c2: …"""',
    ),
    define_error(
        "RED419",
        "no test checks the result",
        "All new tests are too weak (RED418): any implementation that returns some value would pass them.",
        bad="def test_earn():\n    assert isinstance(earn(5), int)",
        good="def test_earn():\n    assert earn(5) == 1",
        remedy="let at least one test assert a value that the criterion requires.",
    ),
    define_strict_error(
        "RED501",
        "fails differently in a second run",
        "The second run, in reverse order and with another hash seed, gave a different result. A flaky test "
        "proves nothing.",
        bad="test_earn: AssertionError first, passed the second time",
        good="test_earn: the same AssertionError in both runs",
        remedy="remove randomness, order, time and shared state from the test.",
    ),
    define_strict_error(
        "RED502",
        "an old failure is claimed as RED",
        "The test failed in the same way before this commit. The failure belongs to the baseline and says nothing "
        "about the new story.",
        bad="tests/test_old.py::test_tax already failed",
        good="tests/test_earn.py::test_earn is new and fails; tests/test_old.py is unchanged",
        remedy="write new tests for the story and leave the old failure as it is.",
    ),
    define_strict_error(
        "RED503",
        "a test that passed before fails now",
        "New tests must not break existing ones through a shared fixture, a name clash or leftover state.",
        bad="tests/test_cart.py::test_total passed before",
        good="tests/test_cart.py::test_total passes before and after",
        remedy="isolate the new tests from the existing ones.",
    ),
    define_strict_error(
        "RED504",
        "a test that passed before is missing",
        "It was deleted, renamed or skipped, or it is no longer collected.",
        bad="tests/test_cart.py::test_total is no longer collected",
        good="every test that was collected before is still collected",
        remedy="restore it; removing tests is a separate step.",
    ),
    define_strict_error(
        "RED507",
        "was not run a second time",
        "Without a second run it is unknown whether the failure is repeatable.",
        bad="no repeat run in the evidence",
        good="head_run and repeat_run in the evidence, both produced by the gate",
        remedy="judge the commits again; the gate makes both runs.",
    ),
)


_SCOPE: dict[PathKind, tuple[str, str]] = {
    PathKind.SOURCE: ("RED101", "source file; RED may change tests only"),
    PathKind.OTHER: ("RED101", "not a test; RED may change tests only"),
    PathKind.TEST_CONFIG: ("RED102", "changes how tests run; RED may change tests only"),
    PathKind.MANIFEST: ("RED102", "dependency manifest; RED may change tests only"),
    PathKind.CI: ("RED102", "decides which tests run; RED may change tests only"),
    PathKind.STATE: ("RED103", "only the bot may change this"),
    PathKind.PROTECTED: ("RED103", "only a person may change this, in another commit"),
    PathKind.DOCS: ("RED108", "documentation changed together with the tests"),
}


def check_red(evidence: Evidence, policy: GatePolicy) -> Iterator[Finding]:
    yield from collect_red_findings(merge_hidden_examples(evidence), policy)
    yield from _check_hidden_examples(evidence)


def collect_red_findings(evidence: Evidence, policy: GatePolicy) -> Iterator[Finding]:
    yield from check_runs(evidence, policy)
    yield from _check_tests_only(evidence)
    yield from check_links(evidence, "RED106")
    yield from report_facts(evidence, "RED")
    yield from _check_criteria(evidence)
    yield from check_changed_tests(evidence)
    yield from check_no_regressions(evidence, "RED503", "RED504")
    if evidence.head_run is not None:
        yield from _check_collection(evidence)
        yield from _check_all_fail(evidence)
        yield from _check_repeatable(evidence)
        yield from _check_assertion_strength(evidence)


def _check_hidden_examples(evidence: Evidence) -> Iterator[Finding]:
    yield from check_criteria_named(evidence)
    if evidence.held_out and evidence.held_out.files and not evidence.story_tests:
        yield make_finding("RED201", "all new tests are hidden examples; the programmer would see none")


def _check_tests_only(evidence: Evidence) -> Iterator[Finding]:
    for change in evidence.changes:
        if change.kind in _SCOPE:
            code, message = _SCOPE[change.kind]
            yield make_finding(code, message, path=change.path)


def _check_criteria(evidence: Evidence) -> Iterator[Finding]:
    for coverage in evidence.coverage or ():
        if not coverage.tests:
            yield make_finding("RED210", f"no new test names criterion {coverage.criterion}")


# --- collection -------------------------------------------------------------------------------------------------------


def _check_collection(evidence: Evidence) -> Iterator[Finding]:
    broken = list(_check_broken_files(evidence))
    yield from broken
    if not evidence.story_tests and not broken:
        yield make_finding("RED201", "no new test was collected")
    seen = {fact.test for fact in evidence.facts if fact.code == "RED203"}
    for test, times in Counter(evidence.declared).items():
        if times > 1 and test not in seen:
            yield make_test_finding("RED203", test, f"declared {times} times; only the last one runs")
    for test in evidence.uncollected:
        if test.partition("::")[0] not in {each.path for each in broken}:
            runner = evidence.stack.runner if evidence.stack else "pytest"
            yield make_test_finding("RED202", test, f"declared, but {runner} does not collect it")


def _check_broken_files(evidence: Evidence) -> Iterator[Finding]:
    """Check for changed test files that cannot be collected for any reason other than a missing planned name."""
    changed = {change.path for change in evidence.changes}
    for failure in evidence.head_run.collect_errors if evidence.head_run else ():
        wrong = find_wrong_reason(failure, evidence)
        if wrong is not None and (failure.path in changed or not evidence.story_tests):
            code, message = wrong
            yield make_finding(code, message, path=failure.path, line=failure.line)


# --- results ----------------------------------------------------------------------------------------------------------


def _check_all_fail(evidence: Evidence) -> Iterator[Finding]:
    results = [(test, find_results(evidence.head_run, test)) for test in evidence.story_tests]
    every = [result for _, found in results for result in found]
    if every and all(result.outcome == "passed" for result in every):
        yield make_finding(
            "RED105",
            f"{format_pass_count(len(every), len(every), 'new test')} on the unchanged source: "
            "the story is already built, or no test covers what is missing",
        )
        return
    edges = {fact.test for fact in evidence.facts if fact.code == "RED109"}
    for test, found in results:
        if not found:
            yield make_test_finding("RED204", test, "was not run")
        for result in found:
            if result.outcome != "passed" or result.id not in edges:
                yield from _check_failure(result, evidence)


def _check_failure(result: TestResult, evidence: Evidence) -> Iterator[Finding]:
    if result.outcome == "passed":
        yield make_test_finding("RED104", result.id, "passes before any implementation")
    elif result.outcome not in {"failed", "error"}:
        yield make_test_finding("RED204", result.id, f"{result.outcome}: it proves nothing")
    elif result.failure is None:
        yield make_test_finding("RED204", result.id, f"{result.outcome}, and the reason is unknown")
    else:
        wrong = find_wrong_reason(result.failure, evidence)
        if wrong is not None:
            yield make_test_finding(wrong[0], result.id, wrong[1], line=_find_failure_line(result.failure, result))
        elif _has_failed_before(result, evidence):
            yield make_test_finding("RED502", result.id, "failed the same way before this commit: baseline, not RED")


def _find_failure_line(failure: Failure, result: TestResult) -> int:
    return failure.line if failure.path == result.id.partition("::")[0] else 0


def _has_failed_before(result: TestResult, evidence: Evidence) -> bool:
    before = [each for each in find_results(evidence.base_run, result.id) if each.failure is not None]
    return any(
        each.failure and result.failure and each.failure.signature == result.failure.signature for each in before
    )


def _check_repeatable(evidence: Evidence) -> Iterator[Finding]:
    if not evidence.story_tests:
        return
    if evidence.repeat_run is None:
        yield make_finding("RED507", "the tests were not run a second time")
        return
    for test in evidence.story_tests:
        first = {result.id: _describe_outcome(result) for result in find_results(evidence.head_run, test)}
        second = {result.id: _describe_outcome(result) for result in find_results(evidence.repeat_run, test)}
        for name in sorted(first.keys() | second.keys()):
            one, other = first.get(name, "not run"), second.get(name, "not run")
            if one != other:
                yield make_test_finding(
                    "RED501", name, f"first run: {one}; second run, in reverse order with another hash seed: {other}"
                )


def _check_assertion_strength(evidence: Evidence) -> Iterator[Finding]:
    """Check that at least one test asserts a value, not just a type or the absence of an error."""
    little = {fact.test for fact in evidence.facts if fact.code in {"RED418", "RED421", "RED422"}}
    tests = {strip_test_parameters(test) for test in evidence.story_tests}
    if tests and tests <= little:
        yield make_finding("RED419", f"{count(len(tests), 'new test')}, and none checks the returned value")


def _describe_outcome(result: TestResult) -> str:
    return f"{result.outcome} ({result.failure.signature})" if result.failure else result.outcome
