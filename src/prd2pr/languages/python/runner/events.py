"""Reads the launcher's events into a record of the run."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

from prd2pr.languages.python.runner.failure_reason import RaisedException
from prd2pr.languages.test_runner import FileLines, LineReport

TestStage = Literal["setup", "call", "teardown"]


@dataclass(frozen=True)
class StageReport:
    """One stage of a test as pytest reported it, with the exception that was actually raised."""

    id: str
    when: TestStage
    outcome: str  # passed, failed, skipped
    made: str  # the original outcome; if it differs from `outcome`, a hook changed the report
    raised: RaisedException | None
    xfail: bool
    sub: bool  # belongs to a subtest
    text: str
    seconds: float


@dataclass(frozen=True)
class CollectionFailure:
    """A module, class or directory that could not be collected or was skipped as a whole."""

    id: str
    outcome: str  # failed, skipped
    conftest: str
    raised: RaisedException | None


@dataclass
class ObservedRun:
    """The state of a run according to its events."""

    tools: dict[str, str] = field(default_factory=dict)
    collected: list[str] | None = None  # None if collection did not finish
    started: list[str] = field(default_factory=list)
    reports: list[StageReport] = field(default_factory=list)
    uncollected: list[CollectionFailure] = field(default_factory=list)
    collecting: str = ""  # the file whose collection did not finish
    running: str = ""  # the test that did not finish
    finish: int | None = None  # exit status of the session
    end: int | None = None  # exit status that pytest's main returned
    aborted: RaisedException | None = None
    problems: list[str] = field(default_factory=list)
    reached: dict[str, frozenset[str]] | None = None  # for surveys: test file -> files that it executes
    lines: LineReport | None = None  # for runs that measure coverage


def read_events(data: bytes, nonce: str) -> ObservedRun:
    """Read the events. An unexpected line or a gap in the numbering means that something else wrote to the pipe."""
    run = ObservedRun()
    *lines, rest = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        event = _decode(line)
        if event.get("nonce") != nonce or event.get("n") != number:
            run.problems.append("something other than the test runner wrote to the event log")
            return run
        _READERS[event["event"]](run, event)
    if rest and run.end is not None:
        run.problems.append("the event log continues after the end of the run")
    return run


def _decode(line: bytes) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) and event.get("event") in _READERS else {}


def _read_raised(facts: dict[str, Any] | None) -> RaisedException | None:
    return RaisedException.from_facts(facts) if facts else None


def _read_tools(run: ObservedRun, event: dict[str, Any]) -> None:
    run.tools = {str(name): str(version) for name, version in event["tools"].items()}


def _read_collect(run: ObservedRun, event: dict[str, Any]) -> None:
    run.collecting = event["id"]


def _read_collected_file(run: ObservedRun, event: dict[str, Any]) -> None:
    if run.collecting == event["id"]:
        run.collecting = ""


def _read_uncollected(run: ObservedRun, event: dict[str, Any]) -> None:
    _read_collected_file(run, event)
    found = CollectionFailure(event["id"], event["outcome"], event["conftest"], _read_raised(event["raised"]))
    run.uncollected.append(found)


def _read_collected(run: ObservedRun, event: dict[str, Any]) -> None:
    run.collected, run.collecting = list(event["ids"]), ""


def _read_start(run: ObservedRun, event: dict[str, Any]) -> None:
    run.started.append(event["id"])
    run.running = event["id"]


def _read_report(run: ObservedRun, event: dict[str, Any]) -> None:
    fields = {key: event[key] for key in StageReport.__dataclass_fields__}
    run.reports.append(StageReport(**{**fields, "raised": _read_raised(event["raised"])}))
    if event["when"] == "teardown":
        run.running = ""


def _read_finish(run: ObservedRun, event: dict[str, Any]) -> None:
    run.finish = event["status"]


def _read_end(run: ObservedRun, event: dict[str, Any]) -> None:
    run.end = event["status"]


def _read_tampering(run: ObservedRun, event: dict[str, Any]) -> None:
    run.problems.append(str(event["problem"]))


def _read_abort(run: ObservedRun, event: dict[str, Any]) -> None:
    run.aborted = _read_raised(event["raised"])


def _read_survey(run: ObservedRun, event: dict[str, Any]) -> None:
    run.reached = {str(test): frozenset(map(str, files)) for test, files in event["reached"].items()}


def _read_coverage(run: ObservedRun, event: dict[str, Any]) -> None:
    files = {
        str(path): FileLines(frozenset(map(int, each["statements"])), frozenset(map(int, each["missing"])))
        for path, each in event["files"].items()
    }
    run.lines = LineReport(str(event["tool"]), files)


_READERS = {
    "tools": _read_tools,
    "collect": _read_collect,
    "collected_file": _read_collected_file,
    "uncollected": _read_uncollected,
    "collected": _read_collected,
    "start": _read_start,
    "report": _read_report,
    "finish": _read_finish,
    "end": _read_end,
    "tampered": _read_tampering,
    "aborted": _read_abort,
    "survey": _read_survey,
    "coverage": _read_coverage,
}
