"""Forged steps, made with gates that accept everything, get no green check and no ready pull request."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from warm_starts import KEPT_RUNS
from world import write

TESTS = Path(__file__).parents[1]

PATCHED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv.pop(1))
from kept_runs import make_kept_runner
from prd2pr.cli import context
context.PytestRunner = make_kept_runner(Path(sys.argv.pop(1)))
import prd2pr.verification.verdict as gates
import prd2pr.workflow.run as drive
from prd2pr.domain.evidence import Verdict
assert drive.check_regressions
drive.check_regressions = lambda session, position: None
for phase in list(gates.GATES):
    gates.GATES[phase] = lambda evidence, policy, phase=phase: Verdict(phase=phase, accepted=True)
from prd2pr.cli.main import main
sys.exit(main())
"""
EVIL = "def add(a, b):\n    return 'evil'\n"
BOT = ("github-actions[bot]", "41898282+github-actions[bot]@users.noreply.github.com")


def forge(world) -> None:
    home = world.root / "home"

    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=home, check=True, capture_output=True)

    subprocess.run(["git", "clone", "-q", str(world.bare.path), str(home)], check=True)
    for name, value in zip(("user.name", "user.email"), BOT, strict=True):
        git("config", name, value)
    git("branch", world.branch, f"origin/{world.branch}")
    world.answers_of_model["calc-1/green/builder/1/1"] = write("src/calc/sums.py", EVIL)
    worse = f"{EVIL}\n\ndef double(a):\n    return 'worse'\n"
    world.answers_of_model["calc-2/green/builder/1/1"] = write("src/calc/sums.py", worse)
    script = world.root / "patched.py"
    script.write_text(PATCHED)
    program = [sys.executable, str(script), str(TESTS), str(KEPT_RUNS[0])]
    made = subprocess.run(
        [*program, "run", "prds/calc.md", "--model", f"replay:{world.transcript()}"],
        cwd=home, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr
    git("push", "-q", str(world.bare.path), f"{world.branch}:{world.branch}")


def test_forged_steps_are_not_verified(started):
    number = started.pull().number
    forge(started)
    started.tick()
    acted = started.act()
    assert acted.outputs["outcome"] == "blocked", acted.output
    concluded = {check.name: check.conclusion for check in started.checks()}
    assert concluded["prd2pr / green(calc-1)"] == "failure"
    assert concluded["prd2pr / red(calc-1)"] == "success"
    assert concluded["prd2pr / calc"] == "failure"
    assert started.pull().pull.draft
    said = started.status_comment(number).body
    assert "### Not proved" in said and "commits are proved; not proved: " in said
    green = next(line for line in started.bare.git("log", "--format=%h %s", "--abbrev=10", started.branch).splitlines()
                 if "green(calc-1)" in line)  # fmt: skip
    assert green.split()[0] in said
    (told,) = [row.body for row in started.comments(number) if "is not proved.**" in row.body]
    assert green.split()[0] in told and "`/tdd verify`" in told


@pytest.mark.slow
def test_honest_steps_of_several_runs_are_verified_and_ready(started):
    number = started.pull().number
    started.comment(number, "/tdd next", by="ada")
    assert started.act().status == 0
    started.comment(number, "/tdd run", by="ada")
    acted = started.act()
    assert acted.outputs["outcome"] == "done", acted.output
    assert {check.conclusion for check in started.checks()} <= {"success", "neutral"}
    assert not started.pull().pull.draft
