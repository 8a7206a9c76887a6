"""Rules that several gates share. Each yields findings; what lacks in the evidence is a finding too, never a pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from prd2pr.core.evidence import Change, Evidence, Finding, PathKind, RunSummary, Severity, TestResult, Verdict
from prd2pr.core.findings import FINDINGS, UNSWITCHABLE
from prd2pr.core.isolation import complaint
from prd2pr.core.policy import OPEN_SCOPE, is_open
from prd2pr.core.records import UNTESTED_KINDS, Phase
from prd2pr.core.stacks.words import not_checked_words

LINK_MODES = frozenset({"120000", "160000"})
_SHOWN = 8  # of one kind; the rest is counted


@dataclass(frozen=True)
class GatePolicy:
    """What the base branch's configuration says about the gates."""

    severities: Mapping[str, Severity] = field(default_factory=dict)
    allow_manifest: bool = False
    require_sandbox: bool = False
    mutation_ratio: float | None = 0.4  # None: not asked
    compare: bool = True  # REFACTOR: old code with new


@dataclass(frozen=True)
class Codes:
    """One gate's names for the shared rules."""

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


def finding(code: str, message: str, *, path: str = "", line: int = 0, test: str = "") -> Finding:
    return Finding(code=code, severity=FINDINGS[code].severity, message=message, path=path, line=line, test=test)


def about_test(code: str, test: str, message: str, *, line: int = 0) -> Finding:
    return finding(code, message, path=test.partition("::")[0], line=line, test=test)


def settle(phase: Phase, findings: Iterable[Finding], policy: GatePolicy) -> Verdict:
    """Weigh the findings by the policy. What is unswitchable stays an error, whatever the policy says."""
    weighed: dict[Finding, None] = {}
    for each in findings:
        severity = FINDINGS[each.code].severity
        if each.code not in UNSWITCHABLE:
            configured = policy.severities.get(each.code, severity)
            if configured == "off":
                continue
            severity = configured
        weighed[each.model_copy(update={"severity": severity})] = None
    ordered = sorted(weighed, key=lambda each: (each.severity, each.code, each.path, each.line, each.test))
    return Verdict(phase=phase, accepted=not any(each.severity == "error" for each in ordered), findings=tuple(ordered))


# --- the run ----------------------------------------------------------------------------------------------------------


def honest_runs(evidence: Evidence, policy: GatePolicy) -> Iterator[Finding]:
    head = evidence.head_run
    if head is None:
        yield finding("RUN102", "there is no test run of the head commit, so there is nothing to judge")
        return
    yield from honest_run(head, "")
    if evidence.base_run is None or evidence.comparison is None:
        yield finding("RUN105", "there is no test run of the base commit to compare with")
    else:
        yield from honest_run(evidence.base_run, "at the base commit: ")
    if evidence.repeat_run is not None:
        yield from honest_run(evidence.repeat_run, "in the second run: ")
    if lacking := complaint(head.sandbox):
        yield finding("RUN103" if policy.require_sandbox else "RUN104", lacking)
    if evidence.stack and evidence.stack.not_checked:
        yield finding("RUN109", not_checked_words(evidence.stack.runner, evidence.stack.not_checked))
    yield from facts(evidence, "RUN")


def honest_run(run: RunSummary, where: str) -> Iterator[Finding]:
    for problem in run.problems:
        yield finding("RUN101", f"{where}{problem}")
    if not run.honest and not run.problems:
        yield finding("RUN101", f"{where}the run is marked as not honest")
    if run.exit_status is None and run.honest:
        yield finding("RUN106", f"{where}the test process did not end by itself")


# --- what changed -----------------------------------------------------------------------------------------------------


def links(evidence: Evidence, code: str) -> Iterator[Finding]:
    for change in evidence.changes:
        if change.new_mode in LINK_MODES:
            what = "a symbolic link" if change.new_mode == "120000" else "a submodule"
            yield finding(code, f"`{change.path}` is {what}", path=change.path)
        elif change.status == "type_changed":
            yield finding(code, f"`{change.path}` became another type of file", path=change.path)
        elif change.status == "mode_changed":
            modes = f"{change.old_mode} → {change.new_mode}"
            yield finding(code, f"`{change.path}` changed its mode: {modes}", path=change.path)


def asks_no_tests(evidence: Evidence) -> bool:
    """A story of a kind that passes openly without RED. The plan says so; a step cannot."""
    return evidence.kind in UNTESTED_KINDS


def source_only(evidence: Evidence, codes: Codes, policy: GatePolicy) -> Iterator[Finding]:
    """Scope of GREEN and REFACTOR."""
    name = codes.phase.value.upper()
    locked = {each.path for each in evidence.locked}
    for change in evidence.changes:
        kind, path = change.kind, change.path
        scope = OPEN_SCOPE.get(evidence.kind)
        if is_open(evidence.kind, kind, path):
            continue
        if scope is not None and kind is PathKind.SOURCE:
            yield finding(codes.other, f"source; a story of kind {evidence.kind} changes no code", path=path)
        if kind in {PathKind.TEST_CONFIG, PathKind.CI} or is_conftest(change):
            yield finding(codes.how_tests_run, f"changes how tests run; {name} may change source only", path=path)
        elif kind is PathKind.MANIFEST and not policy.allow_manifest:
            yield finding(codes.manifest, f"a dependency manifest; {name} may change source only", path=path)
        elif kind in {PathKind.STATE, PathKind.PROTECTED}:
            yield finding(codes.state, "only the bot and people may write this, in other commits", path=path)
        elif kind is PathKind.TEST and path not in locked:
            yield _loose_test(change, codes)
        elif kind is PathKind.OTHER:
            yield finding(codes.other, f"neither source nor test; {name} may change source only", path=path)
        elif kind is PathKind.DOCS:
            yield finding(codes.docs, "documentation changed together with the code", path=path)


def is_conftest(change: Change) -> bool:
    return change.status == "added" and change.path.rpartition("/")[2] == "conftest.py"


def _loose_test(change: Change, codes: Codes) -> Finding:
    """A test file that no lock names: new, or one that gathering should have locked."""
    if change.status == "added":
        return finding(codes.test, "a new test file: it was never seen to fail", path=change.path)
    if change.status == "deleted":
        return finding(codes.locked_gone, "a test file was deleted", path=change.path)
    return finding(codes.locked, "a test file was changed", path=change.path)


def locks(evidence: Evidence, codes: Codes) -> Iterator[Finding]:
    held = {each.path for each in evidence.locked}
    for path in sorted({test.partition("::")[0] for test in evidence.story_tests} - held):
        yield finding(codes.unlocked, "it is not known whether this is the file that RED committed", path=path)
    for each in evidence.locked:
        if each.actual == each.expected:
            continue
        if not each.actual:
            yield finding(codes.locked_gone, "is not there any more, and RED committed it", path=each.path)
        else:
            detail = f": {each.detail}" if each.detail else ""
            yield finding(codes.locked, f"is not the file that RED committed{detail}", path=each.path)


# --- results ----------------------------------------------------------------------------------------------------------


def results_of(run: RunSummary | None, test: str) -> list[TestResult]:
    """The results of one id. An id without parameters stands for all its cases: RED may not have known them yet."""
    if run is None:
        return []
    known = [*run.story, *run.others_not_passed]
    exact = [result for result in known if result.id == test]
    return exact or [result for result in known if result.id.startswith(f"{test}[")]


def all_pass(evidence: Evidence, codes: Codes) -> Iterator[Finding]:
    if evidence.head_run is None:
        return
    for test in evidence.story_tests:
        results = results_of(evidence.head_run, test)
        if not results:
            yield about_test(codes.not_run, test, "was red, and is not run any more")
        for result in results:
            if result.outcome in {"failed", "error"}:
                yield about_test(codes.not_passed, result.id, f"{result.outcome}{_why(result)}", line=_line(result))
            elif result.outcome != "passed":
                yield about_test(
                    codes.not_run, result.id, f"was red, and is now {result.outcome}; only `passed` counts"
                )


def _why(result: TestResult) -> str:
    if result.failure is None:
        return ""
    first = result.failure.message.strip().splitlines()[:1]
    return f": {result.failure.exception} {first[0] if first else ''}".rstrip()


def _line(result: TestResult) -> int:
    failure = result.failure
    return failure.line if failure and failure.path == result.id.partition("::")[0] else 0


def nothing_broke(evidence: Evidence, regressed: str, fewer: str) -> Iterator[Finding]:
    """What passed before passes still, and nothing has vanished. The story's own tests are judged apart."""
    comparison = evidence.comparison
    if comparison is None:
        return
    own = set(evidence.story_tests)
    for test in comparison.regressed:
        if test not in own:
            yield about_test(regressed, test, f"passed before{_now(evidence, test)}")
    for test in comparison.unsteady:
        yield about_test("RUN108", test, "passes now and then, before this step as well; it counts as an old failure")
    vanished = [test for test in comparison.vanished if test not in own]
    for test in vanished[:_SHOWN]:
        yield about_test(fewer, test, "passed before, and is not run any more")
    if len(vanished) > _SHOWN:
        yield finding(fewer, f"{len(vanished) - _SHOWN} more tests passed before and are not run any more")
    before, after = comparison.collected_before, comparison.collected_after
    if after < before and not vanished:
        yield finding(fewer, f"{before} tests were collected before, {after} now")


def _now(evidence: Evidence, test: str) -> str:
    results = results_of(evidence.head_run, test)
    return f", now {results[0].outcome}{_why(results[0])}" if results else ", and does not now"


def facts(evidence: Evidence, *prefixes: str) -> Iterator[Finding]:
    for fact in evidence.facts:
        if fact.code.startswith(prefixes):
            yield finding(fact.code, fact.message, path=fact.path, line=fact.line, test=fact.test)
