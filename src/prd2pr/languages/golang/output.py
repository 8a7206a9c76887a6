"""Parse the output of a Go test binary run with `-test.v`. The output is not trusted."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

_STARTED = re.compile(r"=== (RUN|CONT|NAME|PAUSE)\s+(\S+)$")
_ENDED = re.compile(r"--- (PASS|FAIL|SKIP): (\S+) \((\d+\.\d+)s\)$")
_LOGGED = re.compile(r"^\s*(\S+\.go):(\d+): ?(.*)$")
_FATAL = re.compile(r"^(panic: |fatal error: |unexpected fault address )")
_WORDS = frozenset({"PASS", "FAIL"})


@dataclass
class BinaryOutput:
    """The parsed output of one process."""

    started: list[str] = field(default_factory=list)
    ended: dict[str, str] = field(default_factory=dict)  # name → PASS, FAIL or SKIP as first reported
    times: Counter[str] = field(default_factory=Counter)  # number of times that its end was reported
    seconds: dict[str, float] = field(default_factory=dict)
    logs: dict[str, list[str]] = field(default_factory=dict)  # name → logged lines
    fatal: str = ""  # a panic and everything after it
    running: str = ""  # the test that printed last
    word: str = ""  # final line: PASS or FAIL

    @property
    def failed(self) -> list[str]:
        return [name for name, outcome in self.ended.items() if outcome == "FAIL"]

    def is_closed(self, status: int) -> bool:
        return self.word == ("FAIL" if status else "PASS")


def parse_output(output: str) -> BinaryOutput:
    found = BinaryOutput()
    lines = output.splitlines()
    for at, line in enumerate(lines):
        if _FATAL.match(line):
            found.fatal = "\n".join(lines[at:])
            break
        if started := _STARTED.search(line):
            _record_start(found, started[1], started[2])
        elif ended := _ENDED.search(line):
            _record_end(found, ended[1], ended[2], float(ended[3]))
        elif line in _WORDS:
            found.word = line
        elif found.running:
            found.logs.setdefault(found.running, []).append(line)
    return found


def _record_start(found: BinaryOutput, what: str, name: str) -> None:
    if what == "RUN" and name not in found.started:
        found.started.append(name)
    if what != "PAUSE":
        found.running = name


def _record_end(found: BinaryOutput, outcome: str, name: str, seconds: float) -> None:
    found.times[name] += 1
    found.ended.setdefault(name, outcome)
    found.seconds.setdefault(name, seconds)
    if found.ended[name] != outcome:
        found.ended[name] = "FAIL"  # contradictory reports count as a failure


@dataclass(frozen=True)
class LogMessage:
    """The log of a test, starting at the first line that names a file and line."""

    text: str = ""
    file: str = ""
    line: int = 0


def extract_message(lines: list[str]) -> LogMessage:
    """Return the log text that follows the last file and line in it, because earlier lines may be remarks."""
    places = [(at, found) for at, line in enumerate(lines) if (found := _LOGGED.match(line))]
    if not places:
        return LogMessage("\n".join(line for line in lines if line.strip()).strip())
    _, last = places[-1]
    text = "\n".join(
        found[3] if (found := _LOGGED.match(line)) else line.strip() for line in lines[places[0][0] :]
    ).strip()
    return LogMessage(text, last[1], int(last[2]))
