"""Decides whether a run can be trusted: events, result file, exit status and canaries must agree."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from prd2pr.domain.evidence import TestResult
from prd2pr.domain.test_runs import strip_test_parameters
from prd2pr.domain.timeouts import describe_stopped_run
from prd2pr.languages.python.runner.canary import Canary
from prd2pr.languages.python.runner.events import ObservedRun, StageReport
from prd2pr.languages.python.runner.failure_reason import clean_message
from prd2pr.languages.python.runner.junit import JUnitKey, JUnitVerdict, make_junit_key, pick_worse_verdict
from prd2pr.sandbox.process import KillReason

TESTS_FAILED = 1  # pytest's exit status when tests fail, which the canaries always cause
_ERROR_LINE = re.compile(
    r"^E  |ERROR: |error: |Error: |Error while|KeyboardInterrupt|^_pytest\.outcomes\.Exit|SystemExit|Interrupted"
)
_STATUS_MEANINGS = {
    0: "all tests passed",
    2: "interrupted",
    3: "internal error",
    4: "usage error",
    5: "no tests collected",
}


@dataclass(frozen=True)
class RunObservations:
    """Everything observed about one run."""

    observed: ObservedRun
    exit_status: int | None
    killed: KillReason
    seconds: float
    junit: dict[JUnitKey, JUnitVerdict] | str  # or the reason why it cannot be read
    output: str
    canaries: Sequence[Canary]
    results: dict[str, TestResult]  # results of all tests, including canaries
    hidden: tuple[str, ...] = ()  # local directories that messages must not name
    complaint: str = ""  # why the sandbox ended the run or could not be set up


def find_run_problems(run: RunObservations) -> tuple[str, ...]:
    """Return the reasons not to trust the run."""
    if run.killed:
        return (_describe_kill(run),)
    problems = [*run.observed.problems, *_find_status_problems(run)]
    if run.observed.end is not None and run.observed.end == TESTS_FAILED:
        problems += [
            *_find_lost_tests(run.observed),
            *_find_changed_reports(run.observed.reports),
            *_find_disagreements(run),
        ]
        problems += _find_canary_problems(run)
    return tuple(dict.fromkeys(_hide_canaries(problem, run.canaries) for problem in problems))


def _hide_canaries(problem: str, canaries: Iterable[Canary]) -> str:
    """Remove canary names, which are random, because a saved verdict must not depend on them."""
    for name in [name for canary in canaries for name in (*canary.ids, canary.path)]:
        problem = re.sub(rf"{re.escape(name)}(\[[^\]]*\])?", "a check", problem)
    return problem


def _describe_kill(run: RunObservations) -> str:
    during = run.observed.running or run.observed.collecting
    where = f" in {during}" if during else ""
    return f"{describe_stopped_run('the run', run.killed, run.seconds)}{where}"


# --- the exit status --------------------------------------------------------------------------------------------------


def _find_status_problems(run: RunObservations) -> list[str]:
    observed = run.observed
    if observed.end is None:
        during = observed.running or observed.collecting
        if run.complaint:
            return [f"the run was stopped: {clean_message(run.complaint, run.hidden)}{f', in {during}' * bool(during)}"]
        return [f"the test process ended (status {run.exit_status}) before pytest did{f', in {during}' * bool(during)}"]
    if observed.end != TESTS_FAILED:
        meaning = _STATUS_MEANINGS.get(observed.end, "unknown")
        tail = _summarize_errors(run) if observed.end in {2, 3, 4} else ""
        if observed.end == 4:
            return [f"pytest could not start{tail}"]
        return [f"pytest ended with status {observed.end} ({meaning}), but a canary requires {TESTS_FAILED}{tail}"]
    if not observed.end == observed.finish == run.exit_status:
        stations = (
            f"the session ended with {observed.finish}, pytest with {observed.end}, the process with {run.exit_status}"
        )
        return [f"the exit status was changed: {stations}"]
    return []


def _summarize_errors(run: RunObservations) -> str:
    """Return pytest's own error messages without usage and decoration."""
    lines = [line.strip().removeprefix("INTERNALERROR>").strip("! ") for line in run.output.splitlines()]
    errors = [line for line in lines if _ERROR_LINE.search(line) and not line.startswith("ERROR: usage:")]
    summary = clean_message(" / ".join(errors[-2:]), run.hidden)
    return f": {summary}" if summary else ""


# --- the tests --------------------------------------------------------------------------------------------------------


def _find_lost_tests(observed: ObservedRun) -> list[str]:
    collected = observed.collected or []
    reported = {report.id for report in observed.reports}
    lost = [test for test in collected if test not in reported]
    uncollected = sorted((reported | set(observed.started)) - set(collected))
    found = [f"{test} was collected but never run" for test in lost[:3]]
    found += [f"{test} was reported but never collected" for test in uncollected[:3]]
    if observed.started != collected and not found:
        found.append("the tests that were started are not the tests that were collected")
    return found


def _find_changed_reports(reports: Iterable[StageReport]) -> list[str]:
    found = []
    for report in reports:
        if report.sub or report.outcome == "rerun":
            continue  # copied from another report by pytest or by a plugin that reruns flaky tests
        if report.outcome != report.made:
            found.append(f"the report of {report.id} was changed from {report.made or 'nothing'} to {report.outcome}")
        elif report.outcome == "passed" and report.raised is not None:
            found.append(f"{report.id} is reported as passed although it raised {report.raised.type}")
    return found[:3]


def _find_disagreements(run: RunObservations) -> list[str]:
    if isinstance(run.junit, str):
        return [run.junit]
    expected = _derive_expected_verdicts(run.observed)
    known = [*run.results, *(test for canary in run.canaries for test in canary.ids)]
    canaries = {make_junit_key(test) for test in known if any(canary.owns(test) for canary in run.canaries)}
    found = []
    for key in sorted(expected.keys() | run.junit.keys()):
        if expected.get(key) != run.junit.get(key):
            here, there = expected.get(key, "absent"), run.junit.get(key, "absent")
            what = "a check" if key in canaries else ".".join(filter(None, key)) or "an unnamed test"
            found.append(f"the result file reports {what} as {there}, the run as {here}")
    return found[:3]


def _derive_expected_verdicts(observed: ObservedRun) -> dict[JUnitKey, JUnitVerdict]:
    """Return the verdicts that the result file must contain according to the events."""
    verdicts: dict[JUnitKey, JUnitVerdict] = {}
    outcomes = [
        (report.id, report.outcome) for report in observed.reports if not (report.sub and report.outcome == "skipped")
    ]
    outcomes += [(uncollected.id, uncollected.outcome) for uncollected in observed.uncollected]
    for node, outcome in outcomes:
        verdict: JUnitVerdict = "bad" if outcome == "failed" else "skipped" if outcome == "skipped" else "passed"
        verdicts[make_junit_key(node)] = pick_worse_verdict(verdicts.get(make_junit_key(node), "passed"), verdict)
    return verdicts


# --- the canaries -----------------------------------------------------------------------------------------------------


def _find_canary_problems(run: RunObservations) -> list[str]:
    project_results = [
        result for test, result in run.results.items() if not any(canary.owns(test) for canary in run.canaries)
    ]
    found = []
    intact = 0
    for canary in run.canaries:
        complaint = _check_canary(canary, run.results)
        if complaint and not _is_canary_excused(canary, run, project_results):
            found.append(complaint)
        intact += not complaint
    if not intact and not found and any(result.outcome == "passed" for result in project_results):
        found.append("no canary was run, so nothing shows that a failing test would have been reported")
    return found


def _check_canary(canary: Canary, results: dict[str, TestResult]) -> str:
    """Return what is wrong with a canary's results, or an empty string."""
    failing, passing = (_find_cases(test, results) for test in (canary.failing, canary.passing))
    where = "the root" if canary.directory == "." else canary.directory
    if not failing or not passing:
        return f"a test put into {where} as a check was not run"
    for case in failing:
        if case.outcome != "failed" or case.failure is None or case.failure.kind != "assertion":
            return f"a test that must fail, put into {where} as a check, was reported as {case.outcome}"
    for case in passing:
        if case.outcome != "passed":
            why = f" ({case.failure.exception}: {case.failure.message})" if case.failure else ""
            return f"a test that must pass, put into {where} as a check, was reported as {case.outcome}{why}"
    return ""


def _find_cases(test: str, results: dict[str, TestResult]) -> list[TestResult]:
    """Return the results of a canary, which has several if an autouse fixture is parametrized.

    Cases for a parameter that is not available here are skipped, like the project's own. They prove nothing, so
    another case has to.
    """
    cases = [result for each, result in results.items() if strip_test_parameters(each) == test]
    return [case for case in cases if case.outcome != "skipped"] or cases


def _is_canary_excused(canary: Canary, run: RunObservations, project_results: Iterable[TestResult]) -> bool:
    """Return whether a canary's missing or wrong results can be ignored.

    Broken fixtures or a broken conftest break the canary too, and where no test passes, none can be faked. If a
    directory was not requested, pytest may be configured to ignore it.
    """
    root = "" if canary.directory == "." else f"{canary.directory}/"
    neighbours = [result for result in project_results if result.id.startswith(root)]
    if not neighbours:
        return not canary.requested and not _find_cases(canary.failing, run.results)
    broken = all(result.outcome == "error" for test in canary.ids for result in _find_cases(test, run.results))
    return broken and all(result.outcome == "error" for result in neighbours)
