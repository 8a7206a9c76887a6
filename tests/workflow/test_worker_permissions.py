"""`permissions.mode`: what workers may do without a person."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from world import RED_ADD, World

REJECT = "permissions: {mode: reject}\n"
ASK = "permissions: {mode: ask}\n"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path).start()


def test_reject_plans_and_asks_no_worker_for_a_change(world: World) -> None:
    world.configure(REJECT)
    done = world.run()
    assert done.status == 1
    assert "no worker may change files" in done.out
    assert world.phases() == ["plan(calc)"]


def test_the_settings_come_from_the_base_branch_only(world: World) -> None:
    world.configure(REJECT).run()
    world.git("switch", "-q", world.branch)
    world.write({".prd2pr.yml": "permissions: {mode: acceptAll}\n"})
    world.commit("Allow everything")
    world.git("switch", "-q", "main")
    done = world.run()
    assert done.status == 1
    assert world.subjects()[-1] == "Allow everything"


def test_with_reject_commits_by_people_are_still_judged(world: World) -> None:
    world.next()  # the plan
    world.next()  # the design
    assert world.phases()[-1] == "design(calc-1)"
    world.configure(REJECT)
    world.git("switch", "-q", world.branch)
    world.write({"tests/tdd/calc-1/test_calc_1_add.py": RED_ADD})
    world.commit("Test the sum")
    world.git("switch", "-q", "main")
    world.run()
    assert world.phases()[-1] == "red(calc-1)"
    assert world.verify().status == 0


def test_ask_stops_without_a_terminal_before_any_call(world: World) -> None:
    world.configure(ASK)
    done = world.run()
    assert done.status == 1
    assert "nobody can be asked about edits here" in done.out
    assert world.phases() == ["plan(calc)"]


def run_at_a_terminal(world: World, answers: str) -> str:
    """Run the program with these lines typed at its terminal, and return what it says on standard error."""
    leader, follower = pty.openpty()
    try:
        os.write(leader, answers.encode())
        done = subprocess.run(
            [sys.executable, "-m", "prd2pr", "run", "prds/calc.md", "--yes", "--model", f"replay:{world.transcript()}"],
            cwd=world.repo, stdin=follower, capture_output=True, text=True, check=False,
        )  # fmt: skip
    finally:
        os.close(leader)
        os.close(follower)
    assert done.returncode == 1, done.stdout
    return done.stderr


def test_ask_commits_only_what_a_person_accepts(world: World) -> None:
    world.configure(ASK)
    said = run_at_a_terminal(world, "y\nn\n")
    assert "+def test_adds_two_numbers():" in said
    assert "Commit red of calc-1? [y/N]" in said
    assert "+    return a + b" in said
    assert world.phases() == ["plan(calc)", "design(calc-1)", "red(calc-1)"], "the code was not accepted"
