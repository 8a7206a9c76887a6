"""The `node:test` runner: one process for each file, with our reporter in the same process."""

from __future__ import annotations

from typing import Any

from prd2pr.languages.javascript.canary import make_node_canary
from prd2pr.languages.javascript.failures import classify_failure
from prd2pr.languages.report_lines import parse_report_lines, parse_thrown
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

_CAUSES: dict[str, FailureCause] = {
    "hookFailed": "hook",
    "subtestsFailed": "subtests",
    "testTimeoutFailure": "timeout",
    "cancelledByParent": "cancelled",
    "testAborted": "cancelled",
}


def make_programs(context: RunnerContext, files: tuple[str, ...]) -> tuple[RunnerProgram, ...]:
    ordered = sorted(files, reverse=context.is_reversed)
    return tuple(
        RunnerProgram(
            argv=(
                "node",
                *context.stack.options,
                *context.arguments,
                f"--test-reporter={context.ours}/node_report.mjs",
                "--test-reporter-destination=stderr",
                f"{context.ours}/node_test.mjs",
            ),
            files=(path,),
            parameters={"file": context.place(path)},
        )
        for path in ordered
    )


def read_results(output: ProgramOutput, _: RunnerContext) -> ProgramResults:
    (path,) = output.program.files
    facts, problems = parse_report_lines(output)
    ended = tuple(_make_finished(path, fact) for fact in facts if fact.get("event") == "test")
    loads = [parse_thrown(fact["error"]) or ThrownError() for fact in facts if fact.get("event") == "load"]
    events = {fact.get("event") for fact in facts}
    reported = [str(fact.get("what")) for fact in facts if fact.get("event") == "problem"]
    return ProgramResults(
        ended=tuple(each for each in ended if each.titles != ("is there",)),
        broken=tuple(BrokenFile(path, thrown) for thrown in loads[:1]),
        finished=frozenset({path}) if {"loaded", "end"} <= events else frozenset(),
        problems=(*problems, *reported),
    )


def _make_finished(path: str, fact: dict[str, Any]) -> FinishedTest:
    is_skipped = bool(fact.get("skipped") or fact.get("todo"))
    return FinishedTest(
        path=path,
        titles=tuple(str(fact.get("titles", "")).split("\0")),
        outcome="skipped" if is_skipped else "passed" if fact.get("outcome") == "passed" else "failed",
        thrown=parse_thrown(fact.get("error")),
        why=_CAUSES.get(str(fact.get("failure", "")), "code"),
        seconds=float(fact.get("seconds") or 0),
    )


NODE = RunnerKind(
    name="node:test",
    executable="node",
    version=("node", "--version"),
    programs=make_programs,
    read=read_results,
    make_canary=make_node_canary,
    classify_failure=classify_failure,
)
