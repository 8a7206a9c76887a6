"""`approval: plan` at the command line: a person is asked once, before anything is built from a new plan."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from world import PLAN, World, say


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path).start().configure("approval: plan\n")


def run_at_terminal(world: World, answer: str) -> subprocess.CompletedProcess[str]:
    ours, theirs = os.openpty()
    try:
        os.write(ours, f"{answer}\n".encode())
        command = [sys.executable, "-m", "prd2pr", "run", "prds/calc.md", "--max-steps", "2"]
        model = ["--model", f"replay:{world.transcript()}"]
        return subprocess.run(
            [*command, *model], cwd=world.repo, stdin=theirs, capture_output=True, text=True, check=False
        )
    finally:
        os.close(ours)
        os.close(theirs)


def test_without_a_terminal_the_run_stops_at_the_plan(world: World) -> None:
    stopped = world.run()
    assert stopped.status == 1
    assert "waits for approval" in stopped.out and "run prds/calc.md --yes" in stopped.out
    assert world.phases() == ["plan(calc)"]
    assert world.next().status == 1
    assert world.phases() == ["plan(calc)"]
    assert world.next("--yes").status == 0
    assert world.phases() == ["plan(calc)", "design(calc-1)"]
    assert world.next().status == 0, "work has begun, so nothing is asked"


def test_a_plan_with_questions_says_how_to_answer_before_it_is_built(world: World) -> None:
    world.answers["calc/plan/planner/1/1"] = say({**PLAN, "questions": ["Is 0 a number?"]})
    stopped = world.run()
    assert 'prd2pr answer Q1 "…" prds/calc.md, then prd2pr run prds/calc.md --yes' in stopped.out


def test_without_the_setting_calling_the_program_is_the_approval(tmp_path: Path) -> None:
    world = World(tmp_path).start()
    assert world.next().status == 0
    assert world.next().status == 0
    assert world.phases() == ["plan(calc)", "design(calc-1)"]


@pytest.mark.slow
def test_at_a_terminal_the_plan_is_shown_and_asked_about(world: World) -> None:
    refused = run_at_terminal(world, "n")
    assert refused.returncode == 1
    assert "calc-1  Add two numbers" in refused.stderr and "Build this plan?" in refused.stderr
    assert "was not approved" in refused.stdout
    assert world.phases() == ["plan(calc)"]
    run_at_terminal(world, "y")
    assert world.phases()[:2] == ["plan(calc)", "design(calc-1)"]


@pytest.mark.slow
def test_a_changed_plan_is_asked_about_again(world: World) -> None:
    assert world.next("--yes").status == 0
    assert world.next("--yes").status == 0
    prd = (world.repo / "prds/calc.md").read_text()
    world.write({"prds/calc.md": prd.replace("can be doubled", "can be tripled")})
    again = {**PLAN["stories"][1], "key": "calc-2", "epic": "", "depends_on": ["calc-1"]}
    world.answers["calc/plan-2/planner/1/1"] = say({"stories": [again]})
    stopped = world.run()
    assert "waits for approval" in stopped.out + stopped.err, stopped.out + stopped.err
