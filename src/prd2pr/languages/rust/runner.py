"""The `cargo test` runner.

A helper program builds and runs the test programs; this module reads and cross-checks their output.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from prd2pr.languages.compiled.build_errors import BROKEN
from prd2pr.languages.compiled.runner import BinaryReader, BinaryRun, BinaryRuns, ProgramEvent, make_program
from prd2pr.languages.runner_kinds import (
    BrokenFile,
    FinishedTest,
    RunnerContext,
    RunnerKind,
    RunnerProgram,
    ThrownError,
)
from prd2pr.languages.rust.build_errors import read_build_errors
from prd2pr.languages.rust.canary import make_rust_canary
from prd2pr.languages.rust.failures import classify_failure, parse_failure_output
from prd2pr.languages.rust.files import name_target

_EVENT = re.compile(r'\{ "type": "(test|suite)", .*\}$')
_END_EVENTS = frozenset({"ok", "failed", "ignored", "timeout"})


def make_programs(context: RunnerContext, files: tuple[str, ...]) -> tuple[RunnerProgram, ...]:
    """Return one program that runs all test programs. A run of the whole suite includes unit tests in the source."""
    local = [context.stack.to_stack_path(path) for path in files]
    order = {
        "files": sorted(local),
        "targets": sorted({name_target(path) for path in local}),
        "whole": context.whole,
        "workspace": any(path.count("/") > 1 for path in local) or not local,
        "backwards": context.is_reversed,
        "arguments": list(context.arguments),
    }
    return make_program(context, files, "cargo_tests.py", order, make_environment(context))


def make_environment(context: RunnerContext) -> dict[str, str]:
    """Return an offline environment, with separate build output for each run and without debug information."""
    return {
        "CARGO_HOME": f"{context.scratch}/cargo",
        "CARGO_TARGET_DIR": f"{context.scratch}/target",
        "CARGO_NET_OFFLINE": "true",
        "CARGO_INCREMENTAL": "0",
        "CARGO_TERM_COLOR": "never",
        "CARGO_PROFILE_DEV_DEBUG": "0",
        "CARGO_PROFILE_TEST_DEBUG": "0",
    }


@dataclass(frozen=True)
class CargoReport:
    """The events of one process of a test program."""

    tests: tuple[dict[str, Any], ...]
    closed: bool  # whether the suite's result was reported
    running: str = ""

    @property
    def started(self) -> list[str]:
        return [each["name"] for each in self.tests if each.get("event") == "started"]

    @property
    def ended(self) -> dict[str, dict[str, Any]]:
        """The first reported end of each test. Contradictory reports count as a failure."""
        found: dict[str, dict[str, Any]] = {}
        for each in self.tests:
            if each.get("event") in _END_EVENTS:
                known = found.setdefault(each["name"], each)
                if known["event"] != each["event"]:
                    found[each["name"]] = {**each, "event": "failed"}
        return found

    @property
    def failed(self) -> list[str]:
        return [name for name, each in self.ended.items() if each["event"] == "failed"]

    def is_closed(self, _: int) -> bool:
        return self.closed


def _parse_report(output: str) -> CargoReport:
    events = list(_parse_events(output))
    return CargoReport(
        tests=tuple(each for each in events if each["type"] == "test" and isinstance(each.get("name"), str)),
        closed=any(each["type"] == "suite" and each.get("event") in {"ok", "failed"} for each in events),
    )


def _find_broken_files(fact: ProgramEvent, context: RunnerContext, events: list[ProgramEvent]) -> Iterator[BrokenFile]:
    crates = frozenset(name for each in events if each.get("event") == "crates" for name in each["names"])
    for local in fact["files"]:
        path = context.stack.to_repository_path(local)
        own = [{**each, "path": context.stack.to_repository_path(str(each.get("path", "")))} for each in fact["errors"]]
        if not own:
            yield BrokenFile(path, ThrownError(BROKEN, str(fact["output"]).strip()[-600:]))
            continue
        if all(each["path"] != path for each in own) and not any("/tests/" in f"/{each['path']}" for each in own):
            first = own[0]
            yield BrokenFile(path, ThrownError(BROKEN, f"{first['path']}:{first['line']}: {first['message']}"))
            continue
        for thrown in read_build_errors(own, path, context.texts.get(path, ""), crates):
            yield BrokenFile(path, thrown)


def _parse_events(output: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON events. A line may start with test output that lacks a line break."""
    for line in output.splitlines():
        found = _EVENT.search(line)
        try:
            fact = json.loads(found[0]) if found else None
        except ValueError:
            continue
        if isinstance(fact, dict):
            yield fact


def _find_repeated(report: CargoReport, _: BinaryRuns[CargoReport]) -> Iterator[str]:
    times = Counter(each["name"] for each in report.tests if each.get("event") in _END_EVENTS)
    yield from (f"{name} more than once" for name in sorted(times) if times[name] > 1)


def _find_omitted(run: BinaryRun[CargoReport], _: list[BinaryRun[CargoReport]]) -> set[str]:
    return set(run.names) - {each["name"] for each in run.report.tests}


def _list_finished(
    run: BinaryRun[CargoReport], runs: BinaryRuns[CargoReport], context: RunnerContext
) -> Iterator[tuple[str, FinishedTest]]:
    ended = run.report.ended
    for name in dict.fromkeys((*run.report.started, *ended)):
        if name in run.names and name in runs.places:
            local, inner = runs.places[name]
            path, titles = context.stack.to_repository_path(local), tuple(inner.split("::"))
            yield name, _make_finished(path, titles, ended.get(name), context, hung=run.hung)


def _make_finished(
    path: str, titles: tuple[str, ...], fact: ProgramEvent | None, context: RunnerContext, *, hung: bool
) -> FinishedTest:
    if fact is None:
        return FinishedTest(path, titles, "failed", why="timeout" if hung else "cancelled")
    seconds = float(fact.get("exec_time") or 0)
    if fact["event"] == "ignored":
        return FinishedTest(path, titles, "skipped")
    if fact["event"] == "ok":
        return FinishedTest(path, titles, "passed", seconds=seconds)
    printed = f"{fact.get('stdout') or ''}\n{fact.get('message') or ''}"
    return FinishedTest(path, titles, "failed", parse_failure_output(printed, path, context), seconds=seconds)


_BINARIES = BinaryReader(
    event_key="source",
    places_key="places",
    description="the test program of",
    failed_status=101,
    parse=_parse_report,
    find_broken=_find_broken_files,
    list_finished=_list_finished,
    find_repeated=_find_repeated,
    find_omitted=_find_omitted,
)
CARGO = RunnerKind(
    name="cargo test",
    executable="cargo",
    version=("cargo", "--version"),
    programs=make_programs,
    read=_BINARIES.read,
    make_canary=make_rust_canary,
    classify_failure=classify_failure,
    status_with_failures=None,
    home="programs",
)
