"""jest: one process for all files, with a reporter of ours in its main process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from prd2pr.core.other.javascript.canary import expect_canary
from prd2pr.core.other.javascript.failures import classify
from prd2pr.core.other.javascript.vitest_runner import read as read_lines
from prd2pr.core.other.runner import Canary, Ended, Ground, Program, RunnerKind, Said, Seen


def programs(ground: Ground, files: tuple[str, ...]) -> tuple[Program, ...]:
    """Without files the whole suite, by the project's own configuration."""
    asked = () if ground.whole else ("--runTestsByPath", *(ground.place(path) for path in sorted(files)))
    argv = (
        "node",
        *ground.stack.options,
        "node_modules/jest/bin/jest.js",
        "--ci",  # no snapshot is written
        f"--reporters={ground.ours}/jest_report.mjs",
        "--coverage=false",
        "--watchman=false",
        "--passWithNoTests",
        f"--cacheDirectory={ground.scratch}/jest",
        *ground.arguments,
        *asked,
    )
    return (Program(argv=argv, files=tuple(sorted(files))),)


def read(said: Said, ground: Ground) -> Seen:
    seen = read_lines(said, ground)
    return replace(seen, ended=tuple(map(_as_jest_tells, seen.ended)))


def _as_jest_tells(ended: Ended) -> Ended:
    """jest's own assertions are plain errors whose text begins with how they were called."""
    thrown = ended.thrown
    if thrown is None:
        return ended
    timed_out = "Exceeded timeout of" in thrown.message
    asserted = "expect(" in thrown.message.partition("\n")[0]
    found = replace(thrown, is_assertion=thrown.is_assertion or asserted)
    return replace(ended, thrown=found, why="timeout" if timed_out else ended.why)


def canary(path: str, text: str, names: Sequence[str]) -> Canary:
    return expect_canary(path, text, names, module="")


JEST = RunnerKind(
    name="jest",
    executable="node",
    version=("node", "--version"),
    programs=programs,
    read=read,
    canary=canary,
    classify=classify,
)
