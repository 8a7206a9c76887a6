"""The `vitest` runner: one process for all files.

Our reporter runs in the main process, and the tests run in workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prd2pr.languages.javascript.canary import make_expect_canary
from prd2pr.languages.javascript.failures import classify_failure, clean_message
from prd2pr.languages.report_lines import parse_report_lines, parse_thrown
from prd2pr.languages.runner_kinds import (
    BrokenFile,
    CanaryTests,
    FinishedTest,
    ProgramOutput,
    ProgramResults,
    RunnerContext,
    RunnerKind,
    RunnerProgram,
    ThrownError,
)


def make_programs(context: RunnerContext, files: tuple[str, ...]) -> tuple[RunnerProgram, ...]:
    """Return one program. For a run of the whole suite, the project's configuration selects the files."""
    selected = () if context.whole else tuple(context.stack.to_stack_path(path) for path in sorted(files))
    argv = (
        "node",
        "node_modules/vitest/vitest.mjs",
        "run",
        f"--reporter={context.ours}/vitest_report.mjs",
        "--no-color",
        "--coverage.enabled=false",
        "--bail=0",
        "--retry=0",
        "--passWithNoTests",
        *(("--sequence.shuffle.files", "--sequence.seed=1") if context.is_reversed else ()),
        *context.arguments,
        *selected,
    )
    return (RunnerProgram(argv=argv, files=tuple(sorted(files))),)


def read_results(output: ProgramOutput, context: RunnerContext) -> ProgramResults:
    facts, problems = parse_report_lines(output)
    located = [(_read_path(fact, context), fact) for fact in facts]
    setups = {
        (path, str(fact.get("titles"))): parse_thrown(fact["error"])
        for path, fact in located
        if fact["event"] == "suite"
    }
    ended = tuple(_make_finished(path, fact, setups) for path, fact in located if fact["event"] == "test")
    broken = tuple(
        BrokenFile(path, parse_thrown(fact["error"]) or ThrownError())
        for path, fact in located
        if fact["event"] == "load"
    )
    done = any(fact["event"] == "end" for fact in facts)
    loaded = frozenset(path for path, fact in located if fact["event"] == "loaded")
    not_loaded = frozenset(output.program.files) - loaded - {each.path for each in broken}
    stray = [parse_thrown(fact["error"]) for fact in facts if fact["event"] == "unhandled"]
    return ProgramResults(
        ended=ended,
        broken=broken,
        # A file that the project's configuration excludes did not run, but was not interrupted either.
        finished=loaded | (not_loaded if done else frozenset()),
        problems=(
            *problems,
            *(f"an error outside any test: {clean_message(each.message, context)}" for each in stray if each),
        ),
        tools={str(fact["name"]): str(fact["version"]) for fact in facts if fact["event"] == "tool"},
    )


def _read_path(fact: dict[str, Any], context: RunnerContext) -> str:
    return str(fact.get("file", "")).removeprefix(f"{context.checkout}/")


def _make_finished(path: str, fact: dict[str, Any], setups: dict[tuple[str, str], ThrownError | None]) -> FinishedTest:
    """Make a test's result. If the set-up of its suite failed, the test has failed."""
    titles = tuple(str(fact.get("titles", "")).split("\0"))
    around = ["\0".join(titles[:end]) for end in range(1, len(titles))]
    setup = next((setups[path, name] for name in around if (path, name) in setups), None)
    outcome = str(fact.get("outcome"))
    if setup is not None and outcome != "passed":
        return FinishedTest(path, titles, "failed", setup, "hook")
    thrown = parse_thrown(fact.get("error"))
    timed_out = thrown is not None and thrown.message.startswith("Test timed out")
    return FinishedTest(
        path=path,
        titles=titles,
        outcome="passed" if outcome == "passed" else "failed" if outcome == "failed" else "skipped",
        thrown=thrown,
        why="timeout" if timed_out else "code",
        seconds=float(fact.get("seconds") or 0),
    )


def make_canary(path: str, text: str, names: Sequence[str]) -> CanaryTests:
    return make_expect_canary(path, text, names, module="vitest")


VITEST = RunnerKind(
    name="vitest",
    executable="node",
    version=("node", "--version"),
    programs=make_programs,
    read=read_results,
    make_canary=make_canary,
    classify_failure=classify_failure,
)
