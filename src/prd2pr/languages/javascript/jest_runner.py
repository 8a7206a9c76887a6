"""The `jest` runner: one process for all files, with our reporter in jest's main process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from prd2pr.languages.javascript.canary import make_expect_canary
from prd2pr.languages.javascript.failures import classify_failure
from prd2pr.languages.javascript.vitest_runner import read_results as read_lines
from prd2pr.languages.runner_kinds import (
    CanaryTests,
    FinishedTest,
    ProgramOutput,
    ProgramResults,
    RunnerContext,
    RunnerKind,
    RunnerProgram,
)


def make_programs(context: RunnerContext, files: tuple[str, ...]) -> tuple[RunnerProgram, ...]:
    """Return one program. For a run of the whole suite, the project's configuration selects the files."""
    selected = () if context.whole else ("--runTestsByPath", *(context.place(path) for path in sorted(files)))
    argv = (
        "node",
        *context.stack.options,
        "node_modules/jest/bin/jest.js",
        "--ci",  # writes no snapshots
        f"--reporters={context.ours}/jest_report.mjs",
        "--coverage=false",
        "--watchman=false",
        "--passWithNoTests",
        f"--cacheDirectory={context.scratch}/jest",
        *context.arguments,
        *selected,
    )
    return (RunnerProgram(argv=argv, files=tuple(sorted(files))),)


def read_results(output: ProgramOutput, context: RunnerContext) -> ProgramResults:
    results = read_lines(output, context)
    return replace(results, ended=tuple(map(_mark_jest_assertion, results.ended)))


def _mark_jest_assertion(ended: FinishedTest) -> FinishedTest:
    """Mark jest's assertion errors, which are plain errors whose text starts with `expect(`."""
    thrown = ended.thrown
    if thrown is None:
        return ended
    timed_out = "Exceeded timeout of" in thrown.message
    asserted = "expect(" in thrown.message.partition("\n")[0]
    found = replace(thrown, is_assertion=thrown.is_assertion or asserted)
    return replace(ended, thrown=found, why="timeout" if timed_out else ended.why)


def make_canary(path: str, text: str, names: Sequence[str]) -> CanaryTests:
    return make_expect_canary(path, text, names, module="")


JEST = RunnerKind(
    name="jest",
    executable="node",
    version=("node", "--version"),
    programs=make_programs,
    read=read_results,
    make_canary=make_canary,
    classify_failure=classify_failure,
)
