"""Converts the events of a run to one result per test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from prd2pr.domain.evidence import Failure, FailureKind, Outcome, TestResult
from prd2pr.languages.python.rules.test_code.test_file import find_declared_tests
from prd2pr.languages.python.runner.events import CollectionFailure, ObservedRun, StageReport
from prd2pr.languages.python.runner.failure_reason import RaisedException, classify, clean_message
from prd2pr.languages.python.test_naming import DEFAULT_NAMING, TestNaming
from prd2pr.languages.runner_kinds import Stage

_NO_EXCEPTION = RaisedException(type="")


@dataclass(frozen=True)
class ResultContext:
    """The data, in addition to the events, on which the results depend."""

    modules: Mapping[str, str]  # test modules in the checkout, path -> source
    hidden: tuple[str, ...]  # local directories that messages must not name
    naming: TestNaming = DEFAULT_NAMING


@dataclass(frozen=True)
class RunResults:
    """The results of all tests, and the collection errors."""

    tests: tuple[TestResult, ...]
    collect_errors: tuple[Failure, ...]


def collect_results(run: ObservedRun, context: ResultContext, *, killed: bool) -> RunResults:
    found: dict[str, TestResult] = {}
    errors: list[Failure] = []
    for uncollected in run.uncollected:
        failure = _classify_collection_failure(uncollected, context) if uncollected.outcome == "failed" else None
        outcome: Outcome = "error" if failure else "skipped"
        errors += [failure] if failure else []
        for test in _list_declared_tests(uncollected.id or uncollected.conftest.rpartition("/")[0], context):
            found[test] = TestResult(id=test, outcome=outcome, failure=failure)
    for test, reports in _group_by_test(run.reports).items():
        found[test] = _make_test_result(test, reports, context)
    for result in _make_unfinished_results(run, context, killed=killed):
        found[result.id] = result
    return RunResults(tuple(found.values()), tuple(errors))


def _group_by_test(reports: Iterable[StageReport]) -> dict[str, list[StageReport]]:
    grouped: dict[str, list[StageReport]] = {}
    for report in reports:
        grouped.setdefault(report.id, []).append(report)
    return grouped


# --- tests that were run ----------------------------------------------------------------------------------------------


def _make_test_result(test: str, reports: list[StageReport], context: ResultContext) -> TestResult:
    """Return the worst result of a test's stages. A failed call stays failed whatever its teardown reports."""
    seconds = round(sum(report.seconds for report in reports if not report.sub), 4)
    failed = [report for report in reports if report.outcome == "failed"]
    if failed:
        first = min(failed, key=lambda report: ("setup", "call", "teardown").index(report.when))
        outcome: Outcome = "failed" if first.when == "call" else "error"
        return TestResult(id=test, outcome=outcome, failure=_classify_report(first, context), seconds=seconds)
    whole = [report for report in reports if not report.sub]
    skipped = [report for report in whole if report.outcome == "skipped"]
    if skipped:
        return _make_skipped_result(test, skipped[0], context, seconds)
    passed = [report for report in whole if report.when == "call" and report.outcome == "passed"]
    if not passed:  # neither called nor failed
        return TestResult(
            id=test, outcome="error", failure=_make_unexplained_failure("call", "was not run"), seconds=seconds
        )
    return TestResult(id=test, outcome="xpassed" if passed[0].xfail else "passed", seconds=seconds)


def _make_skipped_result(test: str, report: StageReport, context: ResultContext, seconds: float) -> TestResult:
    if report.raised and report.raised.message.startswith("async def function"):
        # pytest before 8.4 skips an async test that no plugin can run. The author did not ask for that skip.
        failure = _classify_report(report, context)
        return TestResult(id=test, outcome="failed", failure=failure, seconds=seconds)
    return TestResult(id=test, outcome="xfailed" if report.xfail else "skipped", seconds=seconds)


def _classify_report(report: StageReport, context: ResultContext) -> Failure:
    if report.raised is None:
        # Reported as failed without an exception: a strict xfail that passed, or a report changed by a hook.
        return _make_unexplained_failure(
            report.when, clean_message(report.text, context.hidden) or "failed without an exception"
        )
    return classify(report.raised, report.when, test_path=report.id.partition("::")[0], places=context.hidden)


def _make_unexplained_failure(stage: Stage, message: str) -> Failure:
    return Failure(kind=FailureKind.EXPLICIT, stage=stage, message=message)


# --- tests that were not ----------------------------------------------------------------------------------------------


def _classify_collection_failure(uncollected: CollectionFailure, context: ResultContext) -> Failure:
    path = uncollected.id.partition("::")[0]
    return classify(uncollected.raised or _NO_EXCEPTION, "collect", test_path=path, places=context.hidden)


def _list_declared_tests(node: str, context: ResultContext) -> list[str]:
    """Return the ids of the tests that a file, class or directory would have provided."""
    path = node.partition("::")[0]
    if path in context.modules:
        declared = find_declared_tests(path, context.modules[path], context.naming)
        return [test for test in dict.fromkeys(declared) if node in (test, path) or test.startswith(f"{node}::")]
    root = f"{path}/" if path not in {"", "."} else ""
    files = [name for name in context.modules if name.startswith(root)]
    return [
        test
        for name in sorted(files)
        for test in dict.fromkeys(find_declared_tests(name, context.modules[name], context.naming))
    ]


def _make_unfinished_results(run: ObservedRun, context: ResultContext, *, killed: bool) -> list[TestResult]:
    """Return results for the tests that were cut off when the run ended inside them or during an import."""
    if not killed and run.end is not None and run.finish not in {2, 3}:
        return []
    kind = FailureKind.TIMEOUT if killed else FailureKind.EXIT
    message = "did not end in time" if killed else _describe_abort(run.aborted, context)
    exception = run.aborted.type if run.aborted else ""
    stage: Literal["collect", "call"] = "call" if run.running else "collect"
    failure = Failure(kind=kind, stage=stage, exception=exception, message=message)
    tests = [run.running] if run.running else (_list_declared_tests(run.collecting, context) if run.collecting else [])
    return [TestResult(id=test, outcome="error" if stage == "collect" else "failed", failure=failure) for test in tests]


def _describe_abort(aborted: RaisedException | None, context: ResultContext) -> str:
    detail = f": {aborted.type} {clean_message(aborted.message, context.hidden)}".rstrip() if aborted else ""
    return f"ended the whole test run{detail}"
