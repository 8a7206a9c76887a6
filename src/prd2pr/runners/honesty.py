"""Whether a run can be believed: events, result file, exit status and canaries must tell one story."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from prd2pr.core.evidence import TestResult
from prd2pr.core.out_of_time import stopped
from prd2pr.runners.canary import Canary
from prd2pr.runners.classify import tidy
from prd2pr.runners.events import Report, Seen
from prd2pr.runners.junit import Key, Verdict, key_of, worst
from prd2pr.runners.watch import Killed

FAILED = 1  # pytest's exit status with failing tests: the canaries always bring it about
_TELLING = re.compile(
    r"^E  |ERROR: |error: |Error: |Error while|KeyboardInterrupt|^_pytest\.outcomes\.Exit|SystemExit|Interrupted"
)
_STATUS = {0: "all tests passed", 2: "interrupted", 3: "internal error", 4: "usage error", 5: "no tests collected"}


@dataclass(frozen=True)
class Testimony:
    seen: Seen
    exit_status: int | None
    killed: Killed
    seconds: float
    junit: dict[Key, Verdict] | str  # or why it cannot be read
    output: str
    canaries: Sequence[Canary]
    results: dict[str, TestResult]  # of all tests, canaries among them
    hidden: tuple[str, ...] = ()  # directories of this machine, which no message may name
    complaint: str = ""  # of the sandbox: why it ended the run, or could not be set up


def problems_of(told: Testimony) -> tuple[str, ...]:
    """Empty: nothing speaks against the run."""
    if told.killed:
        return (_killed(told),)
    found = [*told.seen.problems, *_status_problems(told)]
    if told.seen.end is not None and told.seen.end == FAILED:
        found += [*_coverage_of_tests(told.seen), *_changed_reports(told.seen.reports), *_disagreements(told)]
        found += _canary_problems(told)
    return tuple(dict.fromkeys(_without_names(problem, told.canaries) for problem in found))


def _without_names(problem: str, canaries: Iterable[Canary]) -> str:
    """The names of the canaries are drawn anew for each run: a saved verdict must not depend on them."""
    for name in [name for canary in canaries for name in (*canary.ids, canary.path)]:
        problem = problem.replace(name, "a check")
    return problem


def _killed(told: Testimony) -> str:
    during = told.seen.running or told.seen.collecting
    where = f" in {during}" if during else ""
    return f"{stopped('the run', told.killed, told.seconds)}{where}"


# --- the exit status --------------------------------------------------------------------------------------------------


def _status_problems(told: Testimony) -> list[str]:
    seen = told.seen
    if seen.end is None:
        during = seen.running or seen.collecting
        if told.complaint:
            return [f"the run was stopped: {tidy(told.complaint, told.hidden)}{f', in {during}' * bool(during)}"]
        return [
            f"the test process ended (status {told.exit_status}) before pytest did{f', in {during}' * bool(during)}"
        ]
    if seen.end != FAILED:
        meaning = _STATUS.get(seen.end, "unknown")
        tail = _last_words(told) if seen.end in {2, 3, 4} else ""
        if seen.end == 4:
            return [f"pytest could not start{tail}"]
        return [f"pytest ended with status {seen.end} ({meaning}) where a canary must make it {FAILED}{tail}"]
    if not seen.end == seen.finish == told.exit_status:
        stations = f"the session ended with {seen.finish}, pytest with {seen.end}, the process with {told.exit_status}"
        return [f"the exit status was changed on the way: {stations}"]
    return []


def _last_words(told: Testimony) -> str:
    """What pytest itself complained about, without its usage and without decoration."""
    lines = [line.strip().removeprefix("INTERNALERROR>").strip("! ") for line in told.output.splitlines()]
    telling = [line for line in lines if _TELLING.search(line) and not line.startswith("ERROR: usage:")]
    words = tidy(" / ".join(telling[-2:]), told.hidden)
    return f": {words}" if words else ""


# --- the tests --------------------------------------------------------------------------------------------------------


def _coverage_of_tests(seen: Seen) -> list[str]:
    collected = seen.collected or []
    reported = {report.id for report in seen.reports}
    lost = [test for test in collected if test not in reported]
    foreign = sorted((reported | set(seen.started)) - set(collected))
    found = [f"{test} was collected and never run" for test in lost[:3]]
    found += [f"{test} was reported and never collected" for test in foreign[:3]]
    if seen.started != collected and not found:
        found.append("the tests that were started are not the tests that were collected")
    return found


def _changed_reports(reports: Iterable[Report]) -> list[str]:
    found = []
    for report in reports:
        if report.sub or report.outcome == "rerun":
            continue  # made anew from another report, by pytest itself or by a plugin that repeats flaky tests
        if report.outcome != report.made:
            found.append(f"the report of {report.id} was changed from {report.made or 'nothing'} to {report.outcome}")
        elif report.outcome == "passed" and report.raised is not None:
            found.append(f"{report.id} is reported as passed though it raised {report.raised.type}")
    return found[:3]


def _disagreements(told: Testimony) -> list[str]:
    if isinstance(told.junit, str):
        return [told.junit]
    expected = _expected(told.seen)
    canaries = {key_of(test) for canary in told.canaries for test in canary.ids}
    found = []
    for key in sorted(expected.keys() | told.junit.keys()):
        if expected.get(key) != told.junit.get(key):
            here, there = expected.get(key, "absent"), told.junit.get(key, "absent")
            what = "a check" if key in canaries else ".".join(filter(None, key)) or "nothing that has a name"
            found.append(f"the result file says {there} of {what}, the run said {here}")
    return found[:3]


def _expected(seen: Seen) -> dict[Key, Verdict]:
    """What the result file must say, by what was seen."""
    verdicts: dict[Key, Verdict] = {}
    told = [(report.id, report.outcome) for report in seen.reports if not (report.sub and report.outcome == "skipped")]
    told += [(uncollected.id, uncollected.outcome) for uncollected in seen.uncollected]
    for node, outcome in told:
        verdict: Verdict = "bad" if outcome == "failed" else "skipped" if outcome == "skipped" else "passed"
        verdicts[key_of(node)] = worst(verdicts.get(key_of(node), "passed"), verdict)
    return verdicts


# --- the canaries -----------------------------------------------------------------------------------------------------


def _canary_problems(told: Testimony) -> list[str]:
    real = [result for test, result in told.results.items() if not any(test in canary.ids for canary in told.canaries)]
    found = []
    sung = 0
    for canary in told.canaries:
        complaint = _complaint(canary, told.results)
        if complaint and not _excused(canary, told, real):
            found.append(complaint)
        sung += not complaint
    if not sung and not found and any(result.outcome == "passed" for result in real):
        found.append("no canary was run, so nothing shows that a failing test would have been reported")
    return found


def _complaint(canary: Canary, results: dict[str, TestResult]) -> str:
    failing, passing = results.get(canary.failing), results.get(canary.passing)
    where = "the root" if canary.directory == "." else canary.directory
    if failing is None or passing is None:
        return f"a test put into {where} as a check was not run"
    if failing.outcome != "failed" or failing.failure is None or failing.failure.kind != "assertion":
        return f"a test that must fail, put into {where} as a check, was reported as {failing.outcome}"
    if passing.outcome != "passed":
        why = f" ({passing.failure.exception}: {passing.failure.message})" if passing.failure else ""
        return f"a test that must pass, put into {where} as a check, was reported as {passing.outcome}{why}"
    return ""


def _excused(canary: Canary, told: Testimony, real: Iterable[TestResult]) -> bool:
    """Where nothing passes, nothing can be faked: a directory whose fixtures or conftest break breaks the canary too.

    And a directory that nobody asked for may be one that pytest is told to leave alone.
    """
    root = "" if canary.directory == "." else f"{canary.directory}/"
    beside = [result for result in real if result.id.startswith(root)]
    if not beside:
        return not canary.requested and canary.failing not in told.results
    errors = [told.results.get(test) for test in canary.ids]
    broken = all(result is None or result.outcome == "error" for result in errors)
    return broken and all(result.outcome == "error" for result in beside)
