"""From what was seen of a run to one result per test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from prd2pr.core.evidence import Failure, FailureKind, Outcome, TestResult
from prd2pr.core.test_naming import USUAL, TestNaming
from prd2pr.core.testfacts import declared_tests
from prd2pr.runners.classify import Raised, Stage, classify, tidy
from prd2pr.runners.events import Report, Seen, Uncollected

_NOTHING = Raised(type="")


@dataclass(frozen=True)
class Place:
    """What results depend on beyond the events."""

    modules: Mapping[str, str]  # test modules of the checkout, path -> text
    hidden: tuple[str, ...]  # directories of this machine, which no message may name
    naming: TestNaming = USUAL


@dataclass(frozen=True)
class Results:
    tests: tuple[TestResult, ...]
    collect_errors: tuple[Failure, ...]


def results_of(seen: Seen, place: Place, *, killed: bool) -> Results:
    found: dict[str, TestResult] = {}
    errors: list[Failure] = []
    for uncollected in seen.uncollected:
        failure = _collect_failure(uncollected, place) if uncollected.outcome == "failed" else None
        outcome: Outcome = "error" if failure else "skipped"
        errors += [failure] if failure else []
        for test in _declared_under(uncollected.id or uncollected.conftest.rpartition("/")[0], place):
            found[test] = TestResult(id=test, outcome=outcome, failure=failure)
    for test, reports in _by_test(seen.reports).items():
        found[test] = _result(test, reports, place)
    for result in _unfinished(seen, place, killed=killed):
        found[result.id] = result
    return Results(tuple(found.values()), tuple(errors))


def _by_test(reports: Iterable[Report]) -> dict[str, list[Report]]:
    grouped: dict[str, list[Report]] = {}
    for report in reports:
        grouped.setdefault(report.id, []).append(report)
    return grouped


# --- tests that were run ----------------------------------------------------------------------------------------------


def _result(test: str, reports: list[Report], place: Place) -> TestResult:
    """The worst of its phases: a failed call stays failed, whatever its tear-down did."""
    seconds = round(sum(report.seconds for report in reports if not report.sub), 4)
    failed = [report for report in reports if report.outcome == "failed"]
    if failed:
        first = min(failed, key=lambda report: ("setup", "call", "teardown").index(report.when))
        outcome: Outcome = "failed" if first.when == "call" else "error"
        return TestResult(id=test, outcome=outcome, failure=_failure(first, place), seconds=seconds)
    whole = [report for report in reports if not report.sub]
    skipped = [report for report in whole if report.outcome == "skipped"]
    if skipped:
        return _skipped(test, skipped[0], place, seconds)
    passed = [report for report in whole if report.when == "call" and report.outcome == "passed"]
    if not passed:  # never called, never failed: nothing is known of it
        return TestResult(id=test, outcome="error", failure=_unexplained("call", "was not run"), seconds=seconds)
    return TestResult(id=test, outcome="xpassed" if passed[0].xfail else "passed", seconds=seconds)


def _skipped(test: str, report: Report, place: Place, seconds: float) -> TestResult:
    if report.raised and report.raised.message.startswith("async def function"):
        # Pytest before 8.4 skips an async test that nothing can run; that is no choice of the author.
        failure = _failure(report, place)
        return TestResult(id=test, outcome="failed", failure=failure, seconds=seconds)
    return TestResult(id=test, outcome="xfailed" if report.xfail else "skipped", seconds=seconds)


def _failure(report: Report, place: Place) -> Failure:
    if report.raised is None:
        # Reported as failed though nothing was raised: a strict xfail that passed, or a hook's doing.
        return _unexplained(report.when, tidy(report.text, place.hidden) or "failed without an exception")
    return classify(report.raised, report.when, test_path=report.id.partition("::")[0], places=place.hidden)


def _unexplained(stage: Stage, message: str) -> Failure:
    return Failure(kind=FailureKind.EXPLICIT, stage=stage, message=message)


# --- tests that were not ----------------------------------------------------------------------------------------------


def _collect_failure(uncollected: Uncollected, place: Place) -> Failure:
    path = uncollected.id.partition("::")[0]
    return classify(uncollected.raised or _NOTHING, "collect", test_path=path, places=place.hidden)


def _declared_under(node: str, place: Place) -> list[str]:
    """Ids that a file, a class of it, or a directory would have brought."""
    path = node.partition("::")[0]
    if path in place.modules:
        declared = declared_tests(path, place.modules[path], place.naming)
        return [test for test in dict.fromkeys(declared) if node in (test, path) or test.startswith(f"{node}::")]
    root = f"{path}/" if path not in {"", "."} else ""
    files = [name for name in place.modules if name.startswith(root)]
    return [
        test
        for name in sorted(files)
        for test in dict.fromkeys(declared_tests(name, place.modules[name], place.naming))
    ]


def _unfinished(seen: Seen, place: Place, *, killed: bool) -> list[TestResult]:
    """The run ended inside a test, or inside the import of a test module."""
    if not killed and seen.end is not None and seen.finish not in {2, 3}:
        return []
    kind = FailureKind.TIMEOUT if killed else FailureKind.EXIT
    message = "did not end in time" if killed else _parting_words(seen.aborted, place)
    exception = seen.aborted.type if seen.aborted else ""
    stage: Literal["collect", "call"] = "call" if seen.running else "collect"
    failure = Failure(kind=kind, stage=stage, exception=exception, message=message)
    tests = [seen.running] if seen.running else (_declared_under(seen.collecting, place) if seen.collecting else [])
    return [TestResult(id=test, outcome="error" if stage == "collect" else "failed", failure=failure) for test in tests]


def _parting_words(aborted: Raised | None, place: Place) -> str:
    words = f": {aborted.type} {tidy(aborted.message, place.hidden)}".rstrip() if aborted else ""
    return f"ended the whole test run{words}"
