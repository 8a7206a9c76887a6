"""node's own test runner: one process for each file, with a reporter of ours inside it."""

from __future__ import annotations

from typing import Any

from prd2pr.core.other.javascript.canary import node_canary
from prd2pr.core.other.javascript.failures import classify
from prd2pr.core.other.runner import Broken, Ended, Ground, Program, RunnerKind, Said, Seen, Thrown, Why
from prd2pr.core.other.told import lines_of, thrown_of

_WHY: dict[str, Why] = {
    "hookFailed": "hook",
    "subtestsFailed": "subtests",
    "testTimeoutFailure": "timeout",
    "cancelledByParent": "cancelled",
    "testAborted": "cancelled",
}


def programs(ground: Ground, files: tuple[str, ...]) -> tuple[Program, ...]:
    ordered = sorted(files, reverse=ground.backwards)
    return tuple(
        Program(
            argv=(
                "node",
                *ground.stack.options,
                *ground.arguments,
                f"--test-reporter={ground.ours}/node_report.mjs",
                "--test-reporter-destination=stderr",
                f"{ground.ours}/node_test.mjs",
            ),
            files=(path,),
            parameters={"file": ground.place(path)},
        )
        for path in ordered
    )


def read(said: Said, _: Ground) -> Seen:
    (path,) = said.program.files
    facts, problems = lines_of(said)
    ended = tuple(_ended(path, fact) for fact in facts if fact.get("event") == "test")
    loads = [thrown_of(fact["error"]) or Thrown() for fact in facts if fact.get("event") == "load"]
    events = {fact.get("event") for fact in facts}
    told = [str(fact.get("what")) for fact in facts if fact.get("event") == "problem"]
    return Seen(
        ended=tuple(each for each in ended if each.titles != ("is there",)),
        broken=tuple(Broken(path, thrown) for thrown in loads[:1]),
        finished=frozenset({path}) if {"loaded", "end"} <= events else frozenset(),
        problems=(*problems, *told),
    )


def _ended(path: str, fact: dict[str, Any]) -> Ended:
    passed_over = bool(fact.get("skipped") or fact.get("todo"))
    return Ended(
        path=path,
        titles=tuple(str(fact.get("titles", "")).split("\0")),
        outcome="skipped" if passed_over else "passed" if fact.get("outcome") == "passed" else "failed",
        thrown=thrown_of(fact.get("error")),
        why=_WHY.get(str(fact.get("failure", "")), "code"),
        seconds=float(fact.get("seconds") or 0),
    )


NODE = RunnerKind(
    name="node:test",
    executable="node",
    version=("node", "--version"),
    programs=programs,
    read=read,
    canary=node_canary,
    classify=classify,
)
