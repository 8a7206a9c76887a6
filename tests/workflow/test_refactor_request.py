"""When a refactoring is requested: only if the metrics give a reason, or the settings require it."""

from __future__ import annotations

import json
import subprocess

import pytest

from prd2pr.domain.records import NOTHING_TO_REFACTOR, PLAIN_BY_MEASURE
from world import World, write

BRANCHING = (
    "def add(a, b):\n    if a == 0:\n        return b\n    if b == 0:\n        return a\n    return a + b if a else b\n"
)


def asked_of(world: World) -> list[str]:
    logs = world.git("ls-tree", "-r", "--name-only", world.branch, ".orch-state/logs").splitlines()
    lines = [json.loads(line) for path in logs for line in world.show(path).splitlines()]
    return [
        line["purpose"].split("/")[2] for line in lines if line["kind"] == "call" and "refactorer" in line["purpose"]
    ]


def integrated_note(world: World) -> str:
    cycle = json.loads(world.show(".orch-state/prds/calc/tdd/cycles/calc-1.json"))
    return str(cycle["steps"][-1]["note"])


def run_story(world: World) -> None:
    done = world.run("--story", "calc-1")
    assert done.status == 0, done.out + done.err
    assert world.verify().status == 0


def test_simple_code_is_integrated_without_a_call(world: World) -> None:
    run_story(world)
    assert asked_of(world) == []
    assert integrated_note(world) == "refactor: nothing worth changing by measure"


@pytest.mark.slow
def test_complex_code_gets_a_refactoring_call(world: World) -> None:
    world.answers["calc-1/green/builder/1/1"] = write("src/calc/sums.py", BRANCHING)
    run_story(world)
    assert asked_of(world) == ["refactorer"]
    assert integrated_note(world) == NOTHING_TO_REFACTOR


@pytest.mark.slow
def test_settings_can_always_request_a_refactoring(world: World) -> None:
    world.configure("refactoring: always\n")
    run_story(world)
    assert asked_of(world) == ["refactorer"]


@pytest.mark.slow
def test_other_clone_knows_the_code_before_the_story(world: World) -> None:
    """Each CI job has its own clone, which has no trees that are not in a commit."""
    for _ in range(4):
        assert world.next().status == 0
    assert world.phases()[-1] == "green(calc-1)"
    first = world.repo.rename(world.repo.with_name("first"))
    subprocess.run(["git", "clone", "-q", "--no-local", str(first), str(world.repo)], check=True)
    world.git("fetch", "-q", "origin", f"{world.branch}:{world.branch}")
    done = world.next()
    assert done.status == 0, done.out + done.err
    assert integrated_note(world) == PLAIN_BY_MEASURE
