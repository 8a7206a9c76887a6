"""Checks that several gates share. Missing evidence is always reported as a finding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from prd2pr.domain.evidence import Change, Evidence, Finding, PathKind, RunSummary, Severity, TestResult
from prd2pr.domain.records import UNTESTED_KINDS, Phase
from prd2pr.domain.results.isolation import describe_missing_protections
from prd2pr.domain.stack_policy import describe_unchecked
from prd2pr.domain.write_policy import OPEN_SCOPE, is_in_open_scope

LINK_MODES = frozenset({"120000", "160000"})
_MAX_SHOWN = 8  # findings listed per check; the others are only counted


@dataclass(frozen=True)
class GatePolicy:
    """The gate settings of the base branch's configuration."""

    severities: Mapping[str, Severity] = field(default_factory=dict)
    allow_manifest: bool = False
    require_sandbox: bool = False
    mutation_ratio: float | None = 0.4  # None means no minimum
    compare: bool = True  # whether REFACTOR runs differential tests


@dataclass(frozen=True)
class GateCodes:
    """The codes under which one gate reports the findings of the shared checks."""

    phase: Phase
    how_tests_run: str
    manifest: str
    state: str
    link: str
    test: str
    other: str
    docs: str
    locked: str
    locked_gone: str
    unlocked: str
    not_passed: str
    not_run: str
    regressed: str
    fewer: str


def make_finding(code: str, message: str, *, path: str = "", line: int = 0, test: str = "") -> Finding:
    """Make a finding. `build_verdict` sets its severity from the table of findings and the policy."""
    return Finding(code=code, severity="error", message=message, path=path, line=line, test=test)


def make_test_finding(code: str, test: str, message: str, *, line: int = 0) -> Finding:
    return make_finding(code, message, path=test.partition("::")[0], line=line, test=test)


# --- the run ----------------------------------------------------------------------------------------------------------


def check_runs(evidence: Evidence, policy: GatePolicy) -> Iterator[Finding]:
    head = evidence.head_run
    if head is None:
        yield make_finding("RUN102", "no test run of the head commit: nothing can be judged")
        return
    yield from check_run(head, "")
    if evidence.base_run is None or evidence.comparison is None:
        yield make_finding("RUN105", "no test run of the base commit to compare with")
    else:
        yield from check_run(evidence.base_run, "at the base commit: ")
    if evidence.repeat_run is not None:
        yield from check_run(evidence.repeat_run, "in the second run: ")
    if lacking := describe_missing_protections(head.sandbox):
        yield make_finding("RUN103" if policy.require_sandbox else "RUN104", lacking)
    if evidence.stack and evidence.stack.not_checked:
        yield make_finding("RUN109", describe_unchecked(evidence.stack.runner, evidence.stack.not_checked))
    yield from report_facts(evidence, "RUN")


def check_run(run: RunSummary, where: str) -> Iterator[Finding]:
    for problem in run.problems:
        yield make_finding("RUN101", f"{where}{problem}")
    if not run.honest and not run.problems:
        yield make_finding("RUN101", f"{where}the test run cannot be trusted")
    if run.exit_status is None and run.honest:
        yield make_finding("RUN106", f"{where}the test process did not exit by itself")


# --- what changed -----------------------------------------------------------------------------------------------------


def check_links(evidence: Evidence, code: str) -> Iterator[Finding]:
    for change in evidence.changes:
        if change.new_mode in LINK_MODES:
            what = "a symbolic link" if change.new_mode == "120000" else "a submodule"
            yield make_finding(code, f"`{change.path}` is {what}", path=change.path)
        elif change.status == "type_changed":
            yield make_finding(code, f"`{change.path}` changed its file type", path=change.path)
        elif change.status == "mode_changed":
            modes = f"{change.old_mode} → {change.new_mode}"
            yield make_finding(code, f"`{change.path}` changed its mode: {modes}", path=change.path)


def is_untested_story(evidence: Evidence) -> bool:
    """Return whether the story is of a kind that needs no RED. Only the plan sets the kind; a step cannot change it."""
    return evidence.kind in UNTESTED_KINDS


def check_source_only(evidence: Evidence, codes: GateCodes, policy: GatePolicy) -> Iterator[Finding]:
    """Check that GREEN or REFACTOR changes only source files."""
    name = codes.phase.value.upper()
    locked = {each.path for each in evidence.locked}
    for change in evidence.changes:
        kind, path = change.kind, change.path
        scope = OPEN_SCOPE.get(evidence.kind)
        if is_in_open_scope(evidence.kind, kind, path):
            continue
        if scope is not None and kind is PathKind.SOURCE:
            message = f"source file changed; a story of kind {evidence.kind} may not change code"
            yield make_finding(codes.other, message, path=path)
        if kind in {PathKind.TEST_CONFIG, PathKind.CI} or is_new_conftest(change):
            yield make_finding(codes.how_tests_run, f"changes how tests run; {name} may change source only", path=path)
        elif kind is PathKind.MANIFEST and not policy.allow_manifest:
            yield make_finding(codes.manifest, f"dependency manifest changed; {name} may change source only", path=path)
        elif kind in {PathKind.STATE, PathKind.PROTECTED}:
            yield make_finding(codes.state, "only the bot or a person may change this, in a separate commit", path=path)
        elif kind is PathKind.TEST and path not in locked:
            yield _make_unlocked_test_finding(change, codes)
        elif kind is PathKind.OTHER:
            yield make_finding(codes.other, f"neither source nor test; {name} may change source only", path=path)
        elif kind is PathKind.DOCS:
            yield make_finding(codes.docs, "documentation changed together with the code", path=path)


def is_new_conftest(change: Change) -> bool:
    return change.status == "added" and change.path.rpartition("/")[2] == "conftest.py"


def _make_unlocked_test_finding(change: Change, codes: GateCodes) -> Finding:
    if change.status == "added":
        return make_finding(codes.test, "new test file that has never been seen to fail", path=change.path)
    if change.status == "deleted":
        return make_finding(codes.locked_gone, "test file deleted", path=change.path)
    return make_finding(codes.locked, "test file changed", path=change.path)


def check_locks(evidence: Evidence, codes: GateCodes) -> Iterator[Finding]:
    held = {each.path for each in evidence.locked}
    for path in sorted({test.partition("::")[0] for test in evidence.story_tests} - held):
        yield make_finding(codes.unlocked, "cannot tell whether this is the file that RED committed", path=path)
    for each in evidence.locked:
        if each.actual == each.expected:
            continue
        if not each.actual:
            yield make_finding(codes.locked_gone, "deleted; RED committed this file", path=each.path)
        else:
            detail = f": {each.detail}" if each.detail else ""
            yield make_finding(codes.locked, f"differs from the file that RED committed{detail}", path=each.path)


# --- results ----------------------------------------------------------------------------------------------------------


def find_results(run: RunSummary | None, test: str) -> list[TestResult]:
    """Return the results of a test id. An id without parameters matches all of its cases."""
    if run is None:
        return []
    known = [*run.story, *run.others_not_passed]
    exact = [result for result in known if result.id == test]
    return exact or [result for result in known if result.id.startswith(f"{test}[")]


def check_story_tests_pass(evidence: Evidence, codes: GateCodes) -> Iterator[Finding]:
    if evidence.head_run is None:
        return
    for test in evidence.story_tests:
        results = find_results(evidence.head_run, test)
        if not results:
            yield make_test_finding(codes.not_run, test, "was red and is no longer run")
        for result in results:
            if result.outcome in {"failed", "error"}:
                yield make_test_finding(
                    codes.not_passed,
                    result.id,
                    f"{result.outcome}{_describe_failure(result)}",
                    line=_find_failure_line(result),
                )
            elif result.outcome != "passed":
                yield make_test_finding(
                    codes.not_run, result.id, f"was red and is now {result.outcome}; only `passed` counts"
                )


def _describe_failure(result: TestResult) -> str:
    if result.failure is None:
        return ""
    first = result.failure.message.strip().splitlines()[:1]
    return f": {result.failure.exception} {first[0] if first else ''}".rstrip()


def _find_failure_line(result: TestResult) -> int:
    failure = result.failure
    return failure.line if failure and failure.path == result.id.partition("::")[0] else 0


def check_no_regressions(evidence: Evidence, regressed: str, fewer: str) -> Iterator[Finding]:
    """Check that tests outside the story that passed before still run and pass."""
    comparison = evidence.comparison
    if comparison is None:
        return
    own = set(evidence.story_tests)
    for test in comparison.regressed:
        if test not in own:
            yield make_test_finding(regressed, test, f"passed before{_describe_current_result(evidence, test)}")
    for test in comparison.unsteady:
        yield make_test_finding("RUN108", test, "flaky before this step too; not counted as a regression")
    vanished = [test for test in comparison.vanished if test not in own]
    for test in vanished[:_MAX_SHOWN]:
        yield make_test_finding(fewer, test, "passed before and is no longer run")
    if len(vanished) > _MAX_SHOWN:
        yield make_finding(fewer, f"{len(vanished) - _MAX_SHOWN} more tests passed before and are no longer run")
    before, after = comparison.collected_before, comparison.collected_after
    if after < before and not vanished:
        yield make_finding(fewer, f"{before} tests were collected before, {after} now")


def _describe_current_result(evidence: Evidence, test: str) -> str:
    results = find_results(evidence.head_run, test)
    return f", now {results[0].outcome}{_describe_failure(results[0])}" if results else ", does not pass now"


def report_facts(evidence: Evidence, *prefixes: str) -> Iterator[Finding]:
    for fact in evidence.facts:
        if fact.code.startswith(prefixes):
            yield make_finding(fact.code, fact.message, path=fact.path, line=fact.line, test=fact.test)
