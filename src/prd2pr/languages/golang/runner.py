"""The `go test` runner: our program builds and runs the binaries; their output is read and cross-checked here."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from prd2pr.languages.golang.build_errors import read_build_errors
from prd2pr.languages.golang.canary import make_go_canary
from prd2pr.languages.golang.failures import PANIC, classify_failure
from prd2pr.languages.golang.output import BinaryOutput, extract_message, parse_output
from prd2pr.languages.report_lines import parse_report_lines
from prd2pr.languages.runner_kinds import (
    BrokenFile,
    FailureCause,
    FinishedTest,
    ProgramOutput,
    ProgramResults,
    RunnerContext,
    RunnerKind,
    RunnerProgram,
    ThrownError,
)

_OUTCOMES: dict[str, Literal["passed", "failed", "skipped"]] = {
    "PASS": "passed",
    "FAIL": "failed",
    "SKIP": "skipped",
    "": "failed",
}
_CODE: FailureCause = "code"
# No network access and no user settings.
ISOLATED_ENVIRONMENT = {"GOENV": "off", "GOFLAGS": "", "GOPROXY": "off", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}


def make_programs(context: RunnerContext, files: tuple[str, ...]) -> tuple[RunnerProgram, ...]:
    """Return one program for all packages."""
    if not files:
        return ()
    local = context.stack.to_stack_path
    packages: dict[str, list[str]] = {}
    for path in files:
        packages.setdefault(posixpath.dirname(local(path)) or ".", []).append(local(path))
    all_files = [local(path) for path in context.texts]
    order = {
        "packages": [
            {
                "number": number,
                "directory": directory,
                "files": sorted(files_in_package),
                "beside": sorted(path for path in all_files if (posixpath.dirname(path) or ".") == directory),
            }
            for number, (directory, files_in_package) in enumerate(sorted(packages.items()))
        ],
        "scratch": context.scratch,
        "built": context.built,
        "whole": context.whole,
        "backwards": context.is_reversed,
        "arguments": list(context.arguments),
    }
    return (
        RunnerProgram(
            argv=(context.python, "-I", "-S", "-B", f"{context.ours}/go_tests.py"),
            files=files,
            parameters={"order": json.dumps(order)},
            environment=make_environment(context),
        ),
    )


def make_environment(context: RunnerContext) -> dict[str, str]:
    """Return the environment; the build cache belongs to this run only."""
    return {**ISOLATED_ENVIRONMENT, "GOCACHE": f"{context.scratch}/go-build"}


# --- reading ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _BinaryRun:
    """One process of a test binary."""

    names: tuple[str, ...]  # requested tests
    status: int
    hung: bool
    words: BinaryOutput


@dataclass
class _PackageRuns:
    names: dict[str, list[str]] = field(default_factory=dict)  # test function → files that declare it
    first: list[_BinaryRun] = field(default_factory=list)
    again: list[_BinaryRun] = field(default_factory=list)


def read_results(output: ProgramOutput, context: RunnerContext) -> ProgramResults:
    facts, problems = parse_report_lines(output)
    packages: dict[str, _PackageRuns] = {}
    broken: list[BrokenFile] = []
    reported = [str(fact.get("what")) for fact in facts if fact.get("event") == "problem"]
    module = next((str(fact.get("path")) for fact in facts if fact.get("event") == "module"), "")
    for fact in facts:
        if fact.get("event") == "broken":
            broken += _find_broken_files(fact, context, module)
        elif fact.get("event") in {"ran", "finished"}:
            _record_fact(packages.setdefault(str(fact["package"]), _PackageRuns()), fact)
    ended, found = _judge_packages(packages, context)
    whole = any(fact.get("event") == "end" for fact in facts)
    lost = {each.path for each in broken}
    return ProgramResults(
        ended=tuple(ended),
        broken=tuple(broken),
        finished=frozenset(path for path in output.program.files if path not in lost) if whole else frozenset(),
        problems=(*problems, *reported, *found),
    )


def _find_broken_files(fact: dict[str, Any], context: RunnerContext, module: str) -> Iterator[BrokenFile]:
    for local in fact["files"]:
        path = context.stack.to_repository_path(local)
        for thrown in read_build_errors(str(fact["output"]), path, local, context.texts.get(path, ""), module):
            yield BrokenFile(path, thrown)


def _record_fact(package: _PackageRuns, fact: dict[str, Any]) -> None:
    if fact["event"] == "finished":
        package.names = fact["names"]
        return
    parts = package.first if fact["part"] == "first" else package.again
    ran = _BinaryRun(tuple(fact["names"]), int(fact["status"]), bool(fact["hung"]), parse_output(str(fact["output"])))
    parts.append(ran)


def _judge_packages(packages: dict[str, _PackageRuns], context: RunnerContext) -> tuple[list[FinishedTest], list[str]]:
    ended: list[FinishedTest] = []
    problems: list[str] = []
    for directory, package in packages.items():
        files = {
            name: [context.stack.to_repository_path(path) for path in paths] for name, paths in package.names.items()
        }
        for number, ran in enumerate(package.first):
            later = {name for other in package.first[number + 1 :] for name in other.words.started}
            problems += _check_first_run(directory, ran, files, later)
            ended += _list_finished(ran, files)
        for ran in package.again:
            failed, doubts = _check_rerun(directory, ran)
            problems += doubts
            worse = [each for each in _list_finished(ran, files) if each.titles[0] in failed]
            ended = [each for each in ended if each.titles[0] not in failed] + worse
    return ended, list(dict.fromkeys(problems))


def _check_first_run(directory: str, ran: _BinaryRun, files: dict[str, list[str]], later: set[str]) -> Iterator[str]:
    """Yield contradictions in a process's output. `later`: tests that another process had to run."""
    place, words = f"the test binary of {directory}", ran.words
    for name, times in words.times.items():
        top = name.partition("/")[0]
        if top in files and times > len(files[top]):
            yield f"{place} reported the end of {name} {times} times"
    if ran.hung:
        return
    left = later & set(ran.names)
    if ran.status == 0 and (words.failed or words.unfinished or left or words.word != "PASS"):
        yield f"{place} ended with status 0 before its tests, or although some failed"
    if ran.status == 1 and words.word == "FAIL" and not words.failed:
        yield f"{place} ended with status 1 without reporting a failure"


def _check_rerun(directory: str, ran: _BinaryRun) -> tuple[frozenset[str], list[str]]:
    """Check the second run of the tests that passed; return those that fail now, and contradictions."""
    words, names = ran.words, set(ran.names)
    wrong = {name.partition("/")[0] for name in (*words.failed, *words.unfinished)} & names
    silent = names - words.ended.keys()
    place = f"the test binary of {directory}"
    if ran.hung or wrong:
        return frozenset(wrong or {words.running.partition("/")[0]}), []
    if ran.status != 0:
        return frozenset(), [f"{place} reports that all tests pass, but ended with status {ran.status}"]
    if silent:
        return frozenset(), [f"{place} ended with status 0 without a result for {min(silent)}"]
    return frozenset(), []


def _list_finished(ran: _BinaryRun, files: dict[str, list[str]]) -> Iterator[FinishedTest]:
    words = ran.words
    for name in words.started:
        top = name.partition("/")[0]
        if top not in ran.names or top not in files:
            continue
        outcome = words.ended.get(name, "")
        thrown, why = _make_failure(name, ran, files[top][0]) if outcome in {"", "FAIL"} else (None, _CODE)
        for path in files[top]:
            yield FinishedTest(
                path=path,
                titles=tuple(name.split("/")),
                outcome=_OUTCOMES[outcome],
                thrown=thrown,
                why=why,
                seconds=words.seconds.get(name, 0),
            )


def _make_failure(name: str, ran: _BinaryRun, path: str) -> tuple[ThrownError | None, FailureCause]:
    words = ran.words
    ended = name in words.ended
    below = [each for each in words.started if each.startswith(f"{name}/")]
    if words.fatal and (name == words.running or not (ended or below)):
        return ThrownError(PANIC, words.fatal.partition("\n\n")[0], stack=words.fatal), _CODE
    if not ended and ran.hung:
        return None, "timeout"
    if not ended and not (words.fatal and below):
        return None, "cancelled"
    message = extract_message(words.logs.get(name, []))
    if not message.file and any(each in words.failed or each not in words.ended for each in below):
        return None, "subtests"
    place = f"{posixpath.dirname(path)}/{message.file}".lstrip("/") if message.file else path
    return ThrownError("", message.text or "failed", stack=f"{place}:{message.line}", is_assertion=True), _CODE


GO = RunnerKind(
    name="go test",
    executable="go",
    version=("go", "version"),
    programs=make_programs,
    read=read_results,
    make_canary=make_go_canary,
    classify_failure=classify_failure,
    status_with_failures=None,
    home="programs",
)
