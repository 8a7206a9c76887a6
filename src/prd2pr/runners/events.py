"""The launcher's events, parsed at the door into what was seen of a run."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

from prd2pr.runners.classify import Raised

When = Literal["setup", "call", "teardown"]


@dataclass(frozen=True)
class Report:
    """One phase of one test, as pytest reported it, beside what was really raised."""

    id: str
    when: When
    outcome: str  # passed, failed, skipped
    made: str  # the outcome when the report was made; another one later means that a hook changed it
    raised: Raised | None
    xfail: bool
    sub: bool  # of a subtest
    text: str
    seconds: float


@dataclass(frozen=True)
class Uncollected:
    """A module, class or directory that could not be collected, or was skipped as a whole."""

    id: str
    outcome: str  # failed, skipped
    conftest: str
    raised: Raised | None


@dataclass
class Seen:
    tools: dict[str, str] = field(default_factory=dict)
    collected: list[str] | None = None  # None: collection did not end
    started: list[str] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    uncollected: list[Uncollected] = field(default_factory=list)
    collecting: str = ""  # a file whose collection began and did not end
    running: str = ""  # a test that began and did not end
    finish: int | None = None  # status as the session ended
    end: int | None = None  # status that pytest's main returned
    aborted: Raised | None = None
    problems: list[str] = field(default_factory=list)
    reached: dict[str, frozenset[str]] | None = None  # of a survey: test file -> files that it entered


def read_events(data: bytes, nonce: str) -> Seen:
    """A line that is not ours, or a gap in the numbers, means that something else wrote here."""
    seen = Seen()
    *lines, torn = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        event = _decode(line)
        if event.get("nonce") != nonce or event.get("n") != number:
            seen.problems.append("the record of the run was written to by something else than the test runner")
            return seen
        _READERS[event["event"]](seen, event)
    if torn and seen.end is not None:
        seen.problems.append("the record of the run goes on after its end")
    return seen


def _decode(line: bytes) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) and event.get("event") in _READERS else {}


def _raised(facts: dict[str, Any] | None) -> Raised | None:
    return Raised.of(facts) if facts else None


def _tools(seen: Seen, event: dict[str, Any]) -> None:
    seen.tools = {str(name): str(version) for name, version in event["tools"].items()}


def _collect(seen: Seen, event: dict[str, Any]) -> None:
    seen.collecting = event["id"]


def _collected_file(seen: Seen, event: dict[str, Any]) -> None:
    if seen.collecting == event["id"]:
        seen.collecting = ""


def _uncollected(seen: Seen, event: dict[str, Any]) -> None:
    _collected_file(seen, event)
    found = Uncollected(event["id"], event["outcome"], event["conftest"], _raised(event["raised"]))
    seen.uncollected.append(found)


def _collected(seen: Seen, event: dict[str, Any]) -> None:
    seen.collected, seen.collecting = list(event["ids"]), ""


def _start(seen: Seen, event: dict[str, Any]) -> None:
    seen.started.append(event["id"])
    seen.running = event["id"]


def _report(seen: Seen, event: dict[str, Any]) -> None:
    fields = {key: event[key] for key in Report.__dataclass_fields__}
    seen.reports.append(Report(**{**fields, "raised": _raised(event["raised"])}))
    if event["when"] == "teardown":
        seen.running = ""


def _finish(seen: Seen, event: dict[str, Any]) -> None:
    seen.finish = event["status"]


def _end(seen: Seen, event: dict[str, Any]) -> None:
    seen.end = event["status"]


def _tampered(seen: Seen, event: dict[str, Any]) -> None:
    seen.problems.append(str(event["problem"]))


def _aborted(seen: Seen, event: dict[str, Any]) -> None:
    seen.aborted = _raised(event["raised"])


def _survey(seen: Seen, event: dict[str, Any]) -> None:
    seen.reached = {str(test): frozenset(map(str, files)) for test, files in event["reached"].items()}


_READERS = {
    "tools": _tools,
    "collect": _collect,
    "collected_file": _collected_file,
    "uncollected": _uncollected,
    "collected": _collected,
    "start": _start,
    "report": _report,
    "finish": _finish,
    "end": _end,
    "tampered": _tampered,
    "aborted": _aborted,
    "survey": _survey,
}
