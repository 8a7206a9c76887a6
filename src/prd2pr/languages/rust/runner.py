"""The `cargo test` runner: our program builds and runs the test programs; their output is cross-checked here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from prd2pr.languages.report_lines import parse_report_lines
from prd2pr.languages.runner_kinds import (
    BrokenFile,
    FinishedTest,
    ProgramOutput,
    ProgramResults,
    RunnerContext,
    RunnerKind,
    RunnerProgram,
    ThrownError,
)
from prd2pr.languages.rust.build_errors import BROKEN, read_build_errors
from prd2pr.languages.rust.canary import make_rust_canary
from prd2pr.languages.rust.failures import classify_failure, parse_failure_output
from prd2pr.languages.rust.files import name_target

_EVENT = re.compile(r'\{ "type": "(test|suite)", .*\}$')
_FAILED_STATUS = 101
_END_EVENTS = frozenset({"ok", "failed", "ignored", "timeout"})


def make_programs(context: RunnerContext, files: tuple[str, ...]) -> tuple[RunnerProgram, ...]:
    """Return one program for all test programs; a whole run includes unit tests in the source."""
    local = [context.stack.to_stack_path(path) for path in files]
    order = {
        "files": sorted(local),
        "targets": sorted({name_target(path) for path in local}),
        "whole": context.whole,
        "workspace": any(path.count("/") > 1 for path in local) or not local,
        "backwards": context.is_reversed,
        "arguments": list(context.arguments),
    }
    return (
        RunnerProgram(
            argv=(context.python, "-I", "-S", "-B", f"{context.ours}/cargo_tests.py"),
            files=files,
            parameters={"order": json.dumps(order)},
            environment=make_environment(context),
        ),
    )


def make_environment(context: RunnerContext) -> dict[str, str]:
    """Return the environment: offline, with build output for this run only and without debug information."""
    return {
        "CARGO_HOME": f"{context.scratch}/cargo",
        "CARGO_TARGET_DIR": f"{context.scratch}/target",
        "CARGO_NET_OFFLINE": "true",
        "CARGO_INCREMENTAL": "0",
        "CARGO_TERM_COLOR": "never",
        "CARGO_PROFILE_DEV_DEBUG": "0",
        "CARGO_PROFILE_TEST_DEBUG": "0",
    }


# --- reading ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _ProgramRun:
    """One process of a test program."""

    names: tuple[str, ...]  # requested tests
    status: int
    hung: bool
    tests: tuple[dict[str, Any], ...]
    closed: bool  # the suite's result was reported

    @property
    def started(self) -> list[str]:
        return [each["name"] for each in self.tests if each.get("event") == "started"]

    @property
    def ended(self) -> dict[str, dict[str, Any]]:
        """The first reported end of each test; contradictory reports count as a failure."""
        found: dict[str, dict[str, Any]] = {}
        for each in self.tests:
            if each.get("event") in _END_EVENTS:
                known = found.setdefault(each["name"], each)
                if known["event"] != each["event"]:
                    found[each["name"]] = {**each, "event": "failed"}
        return found

    @property
    def twice(self) -> list[str]:
        names = [each["name"] for each in self.tests if each.get("event") in _END_EVENTS]
        return sorted({name for name in names if names.count(name) > 1})

    @property
    def failed(self) -> list[str]:
        return [name for name, each in self.ended.items() if each["event"] == "failed"]

    @property
    def unfinished(self) -> list[str]:
        return [name for name in self.started if name not in self.ended]


@dataclass
class _ProgramRuns:
    source: str
    places: dict[str, list[str]] = field(default_factory=dict)  # test → file and name in it
    first: list[_ProgramRun] = field(default_factory=list)
    again: list[_ProgramRun] = field(default_factory=list)


def read_results(output: ProgramOutput, context: RunnerContext) -> ProgramResults:
    facts, problems = parse_report_lines(output)
    found: dict[str, _ProgramRuns] = {}
    broken: list[BrokenFile] = []
    reported = [str(fact.get("what")) for fact in facts if fact.get("event") == "problem"]
    crates = frozenset(name for fact in facts if fact.get("event") == "crates" for name in fact["names"])
    for fact in facts:
        if fact.get("event") == "broken":
            broken += _find_broken_files(fact, context, crates)
        elif fact.get("event") in {"ran", "finished"}:
            _record_fact(found.setdefault(str(fact["source"]), _ProgramRuns(str(fact["source"]))), fact)
    ended: list[FinishedTest] = []
    for program in found.values():
        results, doubts = _judge_program(program, context)
        ended += results
        reported += doubts
    whole = any(fact.get("event") == "end" for fact in facts)
    lost = {each.path for each in broken}
    return ProgramResults(
        ended=tuple(ended),
        broken=tuple(broken),
        finished=frozenset(path for path in output.program.files if path not in lost) if whole else frozenset(),
        problems=tuple(dict.fromkeys((*problems, *reported))),
    )


def _find_broken_files(fact: dict[str, Any], context: RunnerContext, crates: frozenset[str]) -> Iterator[BrokenFile]:
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


def _record_fact(program: _ProgramRuns, fact: dict[str, Any]) -> None:
    if fact["event"] == "finished":
        program.places = fact["places"]
        return
    events = list(_parse_events(str(fact["output"])))
    ran = _ProgramRun(
        names=tuple(fact["names"]),
        status=int(fact["status"]),
        hung=bool(fact["hung"]),
        tests=tuple(each for each in events if each["type"] == "test" and isinstance(each.get("name"), str)),
        closed=any(each["type"] == "suite" and each.get("event") in {"ok", "failed"} for each in events),
    )
    (program.first if fact["part"] == "first" else program.again).append(ran)


def _parse_events(output: str) -> Iterator[dict[str, Any]]:
    """Yield JSON events; a line may begin with test output that lacks a line break."""
    for line in output.splitlines():
        found = _EVENT.search(line)
        try:
            fact = json.loads(found[0]) if found else None
        except ValueError:
            continue
        if isinstance(fact, dict):
            yield fact


def _judge_program(program: _ProgramRuns, context: RunnerContext) -> tuple[list[FinishedTest], list[str]]:
    ended: list[FinishedTest] = []
    problems: list[str] = []
    for ran in program.first:
        problems += _check_first_run(program.source, ran)
        ended += _list_finished(program, ran, context)
    for ran in program.again:
        failed, doubts = _check_rerun(program.source, ran)
        problems += doubts
        worse = [each for each in _list_finished(program, ran, context) if _is_named(each, failed, program)]
        ended = [each for each in ended if not _is_named(each, failed, program)] + worse
    return ended, problems


def _is_named(ended: FinishedTest, names: frozenset[str], program: _ProgramRuns) -> bool:
    return any("::".join(ended.titles) == program.places.get(name, ["", name])[1] for name in names)


def _check_first_run(source: str, ran: _ProgramRun) -> Iterator[str]:
    """Yield contradictions in a process's output."""
    place = f"the test program of {source}"
    for name in ran.twice:
        yield f"{place} reported the end of {name} more than once"
    if ran.hung:
        return
    left = set(ran.names) - {each["name"] for each in ran.tests}
    if ran.status == 0 and (ran.failed or ran.unfinished or left or not ran.closed):
        yield f"{place} ended with status 0 before its tests, or although some failed"
    if ran.status == _FAILED_STATUS and ran.closed and not ran.failed:
        yield f"{place} ended with status {_FAILED_STATUS} without reporting a failure"


def _check_rerun(source: str, ran: _ProgramRun) -> tuple[frozenset[str], list[str]]:
    """Check the second run of the tests that passed; return those that fail now, and contradictions."""
    place = f"the test program of {source}"
    wrong = {*ran.failed, *ran.unfinished} & set(ran.names)
    silent = set(ran.names) - ran.ended.keys()
    if wrong:
        return frozenset(wrong), []
    if ran.status != 0:
        return frozenset(), [f"{place} reports that all tests pass, but ended with status {ran.status}"]
    if silent:
        return frozenset(), [f"{place} ended with status 0 without a result for {min(silent)}"]
    return frozenset(), []


def _list_finished(program: _ProgramRuns, ran: _ProgramRun, context: RunnerContext) -> Iterator[FinishedTest]:
    for name in dict.fromkeys((*ran.started, *ran.ended)):
        if name not in ran.names or name not in program.places:
            continue
        local, inner = program.places[name]
        path, titles = context.stack.to_repository_path(local), tuple(inner.split("::"))
        fact = ran.ended.get(name)
        if fact is None:
            yield FinishedTest(path, titles, "failed", why="timeout" if ran.hung else "cancelled")
        elif fact["event"] == "ignored":
            yield FinishedTest(path, titles, "skipped")
        elif fact["event"] == "ok":
            yield FinishedTest(path, titles, "passed", seconds=float(fact.get("exec_time") or 0))
        else:
            printed = f"{fact.get('stdout') or ''}\n{fact.get('message') or ''}"
            seconds = float(fact.get("exec_time") or 0)
            yield FinishedTest(path, titles, "failed", parse_failure_output(printed, path, context), seconds=seconds)


CARGO = RunnerKind(
    name="cargo test",
    executable="cargo",
    version=("cargo", "--version"),
    programs=make_programs,
    read=read_results,
    make_canary=make_rust_canary,
    classify_failure=classify_failure,
    status_with_failures=None,
    home="programs",
)
