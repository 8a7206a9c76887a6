"""RED: tests only, and the new tests fail for the right reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from prd2pr.core.evidence import Evidence, Failure, Finding, PathKind, TestResult, Verdict
from prd2pr.core.gates.common import (
    GatePolicy,
    about_test,
    facts,
    finding,
    honest_runs,
    links,
    nothing_broke,
    results_of,
    settle,
)
from prd2pr.core.gates.held_out import nameless
from prd2pr.core.gates.reason import wrong_reason
from prd2pr.core.held_out import judged_together
from prd2pr.core.records import Phase
from prd2pr.core.runs import bare_id
from prd2pr.core.wording import count, passing

_SCOPE: dict[PathKind, tuple[str, str]] = {
    PathKind.SOURCE: ("RED101", "source; RED may change tests only"),
    PathKind.OTHER: ("RED101", "not a test; RED may change tests only"),
    PathKind.TEST_CONFIG: ("RED102", "changes how tests run; RED may change tests only"),
    PathKind.MANIFEST: ("RED102", "a dependency manifest; RED may change tests only"),
    PathKind.CI: ("RED102", "decides which tests are run; RED may change tests only"),
    PathKind.STATE: ("RED103", "only the bot may write this"),
    PathKind.PROTECTED: ("RED103", "only people may write this, in another commit"),
    PathKind.DOCS: ("RED108", "documentation changed together with the tests"),
}


def red_gate(evidence: Evidence, policy: GatePolicy) -> Verdict:
    return settle(Phase.RED, (*red_findings(judged_together(evidence), policy), *_held_out(evidence)), policy)


def red_findings(evidence: Evidence, policy: GatePolicy) -> Iterator[Finding]:
    yield from honest_runs(evidence, policy)
    yield from _tests_only(evidence)
    yield from links(evidence, "RED106")
    yield from facts(evidence, "RED")
    yield from _criteria(evidence)
    yield from nothing_broke(evidence, "RED503", "RED504")
    if evidence.head_run is not None:
        yield from _collected(evidence)
        yield from _all_fail(evidence)
        yield from _repeatable(evidence)
        yield from _asks_for_something(evidence)


def _held_out(evidence: Evidence) -> Iterator[Finding]:
    yield from nameless(evidence)
    if evidence.held_out and evidence.held_out.files and not evidence.story_tests:
        yield finding("RED201", "all new tests are held out, and the programmer would be shown none")


def _tests_only(evidence: Evidence) -> Iterator[Finding]:
    for change in evidence.changes:
        if change.kind in _SCOPE:
            code, message = _SCOPE[change.kind]
            yield finding(code, message, path=change.path)


def _criteria(evidence: Evidence) -> Iterator[Finding]:
    for coverage in evidence.coverage or ():
        if not coverage.tests:
            yield finding("RED210", f"criterion {coverage.criterion} is named by no new test")


# --- collection -------------------------------------------------------------------------------------------------------


def _collected(evidence: Evidence) -> Iterator[Finding]:
    broken = list(_broken_files(evidence))
    yield from broken
    if not evidence.story_tests and not broken:
        yield finding("RED201", "no new test was collected")
    seen = {fact.test for fact in evidence.facts if fact.code == "RED203"}
    for test, times in Counter(evidence.declared).items():
        if times > 1 and test not in seen:
            yield about_test("RED203", test, f"is declared {times} times; only the last one runs")
    for test in evidence.uncollected:
        if test.partition("::")[0] not in {each.path for each in broken}:
            runner = evidence.stack.runner if evidence.stack else "pytest"
            yield about_test("RED202", test, f"is declared, and {runner} does not collect it")


def _broken_files(evidence: Evidence) -> Iterator[Finding]:
    """Changed test files that cannot be collected at all, for another reason than a name that is still to come."""
    changed = {change.path for change in evidence.changes}
    for failure in evidence.head_run.collect_errors if evidence.head_run else ():
        wrong = wrong_reason(failure, evidence)
        if wrong is not None and (failure.path in changed or not evidence.story_tests):
            code, message = wrong
            yield finding(code, message, path=failure.path, line=failure.line)


# --- results ----------------------------------------------------------------------------------------------------------


def _all_fail(evidence: Evidence) -> Iterator[Finding]:
    results = [(test, results_of(evidence.head_run, test)) for test in evidence.story_tests]
    every = [result for _, found in results for result in found]
    if every and all(result.outcome == "passed" for result in every):
        yield finding(
            "RED105",
            f"{passing(len(every), len(every), 'new test')} on the source as it is: the story is built already, or no "
            "test asks for what is missing",
        )
        return
    edges = {fact.test for fact in evidence.facts if fact.code == "RED109"}
    for test, found in results:
        if not found:
            yield about_test("RED204", test, "was not run")
        for result in found:
            if result.outcome != "passed" or result.id not in edges:
                yield from _fails_rightly(result, evidence)


def _fails_rightly(result: TestResult, evidence: Evidence) -> Iterator[Finding]:
    if result.outcome == "passed":
        yield about_test("RED104", result.id, "passes before any implementation")
    elif result.outcome not in {"failed", "error"}:
        yield about_test("RED204", result.id, f"is {result.outcome}: it has said nothing")
    elif result.failure is None:
        yield about_test("RED204", result.id, f"{result.outcome}, and it is not known why")
    else:
        wrong = wrong_reason(result.failure, evidence)
        if wrong is not None:
            yield about_test(wrong[0], result.id, wrong[1], line=_line(result.failure, result))
        elif _failed_before(result, evidence):
            yield about_test(
                "RED502", result.id, "failed in the same way before this commit: that is baseline, not RED"
            )


def _line(failure: Failure, result: TestResult) -> int:
    return failure.line if failure.path == result.id.partition("::")[0] else 0


def _failed_before(result: TestResult, evidence: Evidence) -> bool:
    before = [each for each in results_of(evidence.base_run, result.id) if each.failure is not None]
    return any(
        each.failure and result.failure and each.failure.signature == result.failure.signature for each in before
    )


def _repeatable(evidence: Evidence) -> Iterator[Finding]:
    if not evidence.story_tests:
        return
    if evidence.repeat_run is None:
        yield finding("RED507", "the tests were not run a second time")
        return
    for test in evidence.story_tests:
        first = {result.id: _outcome(result) for result in results_of(evidence.head_run, test)}
        second = {result.id: _outcome(result) for result in results_of(evidence.repeat_run, test)}
        for name in sorted(first.keys() | second.keys()):
            one, other = first.get(name, "not run"), second.get(name, "not run")
            if one != other:
                yield about_test(
                    "RED501", name, f"first {one}, then, in reverse order and with another hash seed, {other}"
                )


def _asks_for_something(evidence: Evidence) -> Iterator[Finding]:
    """One test may ask little beside others that ask for a value; all of them may not."""
    little = {fact.test for fact in evidence.facts if fact.code in {"RED418", "RED421", "RED422"}}
    tests = {bare_id(test) for test in evidence.story_tests}
    if tests and tests <= little:
        yield finding("RED419", f"{count(len(tests), 'new test')}, and none asks what the answer is")


def _outcome(result: TestResult) -> str:
    return f"{result.outcome} ({result.failure.signature})" if result.failure else result.outcome
