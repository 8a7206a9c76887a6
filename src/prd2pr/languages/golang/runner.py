"""The `go test` runner.

A helper program builds and runs the test binaries; this module reads and cross-checks their output.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Literal

from prd2pr.languages.compiled.runner import BinaryReader, BinaryRun, BinaryRuns, ProgramEvent, make_program
from prd2pr.languages.golang.build_errors import read_build_errors
from prd2pr.languages.golang.canary import make_go_canary
from prd2pr.languages.golang.failures import PANIC, classify_failure
from prd2pr.languages.golang.output import BinaryOutput, extract_message, parse_output
from prd2pr.languages.runner_kinds import (
    BrokenFile,
    FailureCause,
    FinishedTest,
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
# Prevents network access and the use of user settings.
ISOLATED_ENVIRONMENT = {"GOENV": "off", "GOFLAGS": "", "GOPROXY": "off", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}


def make_programs(context: RunnerContext, files: tuple[str, ...]) -> tuple[RunnerProgram, ...]:
    """Return one program that handles all packages."""
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
    return make_program(context, files, "go_tests.py", order, make_environment(context))


def make_environment(context: RunnerContext) -> dict[str, str]:
    """Return the environment. Each run has its own build cache."""
    return {**ISOLATED_ENVIRONMENT, "GOCACHE": f"{context.scratch}/go-build"}


def _find_broken_files(event: ProgramEvent, context: RunnerContext, events: list[ProgramEvent]) -> Iterator[BrokenFile]:
    module = next((str(each.get("path")) for each in events if each.get("event") == "module"), "")
    for local in event["files"]:
        path = context.stack.to_repository_path(local)
        for thrown in read_build_errors(str(event["output"]), path, local, context.texts.get(path, ""), module):
            yield BrokenFile(path, thrown)


def _find_repeated(report: BinaryOutput, runs: BinaryRuns[BinaryOutput]) -> Iterator[str]:
    for name, times in report.times.items():
        top = _strip_subtest(name)
        if top in runs.places and times > len(runs.places[top]):
            yield f"{name} {times} times"


def _find_omitted(run: BinaryRun[BinaryOutput], later: list[BinaryRun[BinaryOutput]]) -> set[str]:
    return {name for other in later for name in other.report.started} & set(run.names)


def _strip_subtest(name: str) -> str:
    return name.partition("/")[0]


def _list_finished(
    run: BinaryRun[BinaryOutput], runs: BinaryRuns[BinaryOutput], context: RunnerContext
) -> Iterator[tuple[str, FinishedTest]]:
    report = run.report
    for name in report.started:
        top = _strip_subtest(name)
        if top not in run.names or top not in runs.places:
            continue
        paths = [context.stack.to_repository_path(path) for path in runs.places[top]]
        outcome = report.ended.get(name, "")
        thrown, why = _make_failure(name, run, paths[0]) if outcome in {"", "FAIL"} else (None, _CODE)
        for path in paths:
            yield (
                top,
                FinishedTest(
                    path=path,
                    titles=tuple(name.split("/")),
                    outcome=_OUTCOMES[outcome],
                    thrown=thrown,
                    why=why,
                    seconds=report.seconds.get(name, 0),
                ),
            )


def _make_failure(name: str, run: BinaryRun[BinaryOutput], path: str) -> tuple[ThrownError | None, FailureCause]:
    words = run.report
    ended = name in words.ended
    below = [each for each in words.started if each.startswith(f"{name}/")]
    if words.fatal and (name == words.running or not (ended or below)):
        return ThrownError(PANIC, words.fatal.partition("\n\n")[0], stack=words.fatal), _CODE
    if not ended and run.hung:
        return None, "timeout"
    if not ended and not (words.fatal and below):
        return None, "cancelled"
    message = extract_message(words.logs.get(name, []))
    if not message.file and any(each in words.failed or each not in words.ended for each in below):
        return None, "subtests"
    place = f"{posixpath.dirname(path)}/{message.file}".lstrip("/") if message.file else path
    return ThrownError("", message.text or "failed", stack=f"{place}:{message.line}", is_assertion=True), _CODE


_BINARIES = BinaryReader(
    event_key="package",
    places_key="names",
    description="the test binary of",
    failed_status=1,
    parse=parse_output,
    find_broken=_find_broken_files,
    list_finished=_list_finished,
    find_repeated=_find_repeated,
    find_omitted=_find_omitted,
    strip_subtest=_strip_subtest,
)
GO = RunnerKind(
    name="go test",
    executable="go",
    version=("go", "version"),
    programs=make_programs,
    read=_BINARIES.read,
    make_canary=make_go_canary,
    classify_failure=classify_failure,
    status_with_failures=None,
    home="programs",
)
