"""vitest: one process for all files, with a reporter of ours in its main process; tests run in others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prd2pr.core.other.javascript.canary import expect_canary
from prd2pr.core.other.javascript.failures import classify, tidy
from prd2pr.core.other.runner import Broken, Canary, Ended, Ground, Program, RunnerKind, Said, Seen, Thrown
from prd2pr.core.other.told import lines_of, thrown_of


def programs(ground: Ground, files: tuple[str, ...]) -> tuple[Program, ...]:
    """Without files the whole suite, by the project's own configuration."""
    asked = () if ground.whole else tuple(ground.stack.local(path) for path in sorted(files))
    argv = (
        "node",
        "node_modules/vitest/vitest.mjs",
        "run",
        f"--reporter={ground.ours}/vitest_report.mjs",
        "--no-color",
        "--coverage.enabled=false",
        "--bail=0",
        "--retry=0",
        "--passWithNoTests",
        *(("--sequence.shuffle.files", "--sequence.seed=1") if ground.backwards else ()),
        *ground.arguments,
        *asked,
    )
    return (Program(argv=argv, files=tuple(sorted(files))),)


def read(said: Said, ground: Ground) -> Seen:
    facts, problems = lines_of(said)
    told = [(_path(fact, ground), fact) for fact in facts]
    setups = {
        (path, str(fact.get("titles"))): thrown_of(fact["error"]) for path, fact in told if fact["event"] == "suite"
    }
    ended = tuple(_ended(path, fact, setups) for path, fact in told if fact["event"] == "test")
    broken = tuple(Broken(path, thrown_of(fact["error"]) or Thrown()) for path, fact in told if fact["event"] == "load")
    done = any(fact["event"] == "end" for fact in facts)
    looked_at = frozenset(path for path, fact in told if fact["event"] == "loaded")
    passed_over = frozenset(said.program.files) - looked_at - {each.path for each in broken}
    stray = [thrown_of(fact["error"]) for fact in facts if fact["event"] == "unhandled"]
    return Seen(
        ended=ended,
        broken=broken,
        # The project's configuration says which files are tests; one that it leaves out was not broken off.
        finished=looked_at | (passed_over if done else frozenset()),
        problems=(
            *problems,
            *(f"an error outside of any test: {tidy(each.message, ground)}" for each in stray if each),
        ),
        tools={str(fact["name"]): str(fact["version"]) for fact in facts if fact["event"] == "tool"},
    )


def _path(fact: dict[str, Any], ground: Ground) -> str:
    return str(fact.get("file", "")).removeprefix(f"{ground.checkout}/")


def _ended(path: str, fact: dict[str, Any], setups: dict[tuple[str, str], Thrown | None]) -> Ended:
    """A suite whose set-up failed leaves its tests unrun: they failed there."""
    titles = tuple(str(fact.get("titles", "")).split("\0"))
    around = ["\0".join(titles[:end]) for end in range(1, len(titles))]
    setup = next((setups[path, name] for name in around if (path, name) in setups), None)
    outcome = str(fact.get("outcome"))
    if setup is not None and outcome != "passed":
        return Ended(path, titles, "failed", setup, "hook")
    thrown = thrown_of(fact.get("error"))
    timed_out = thrown is not None and thrown.message.startswith("Test timed out")
    return Ended(
        path=path,
        titles=titles,
        outcome="passed" if outcome == "passed" else "failed" if outcome == "failed" else "skipped",
        thrown=thrown,
        why="timeout" if timed_out else "code",
        seconds=float(fact.get("seconds") or 0),
    )


def canary(path: str, text: str, names: Sequence[str]) -> Canary:
    return expect_canary(path, text, names, module="vitest")


VITEST = RunnerKind(
    name="vitest",
    executable="node",
    version=("node", "--version"),
    programs=programs,
    read=read,
    canary=canary,
    classify=classify,
)
