"""The three entry points, each from a payload file through the generated workflow to the pull request."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from act.rig import ActResult, run_workflow, set_up
from world import GREEN_ADD, GREEN_DOUBLE, PRD, script, write

CONFIG = 'approval: {approval}\nmodels: {{default: "replay:{transcript}", strong: "replay:{transcript}"}}\n'

pytestmark = pytest.mark.timeout(1200)  # up to twelve runs of the workflow, each in processes of its own

PHASES = ("design", "red", "green", "refactor", "integrated")


@pytest.fixture
def ready(source, world):
    def with_approval(approval: str, more: str = "") -> None:
        set_up(source, world, CONFIG.format(approval=approval, transcript=world.transcript()) + more)

    return with_approval


def act(source, world) -> ActResult:
    done = run_workflow(source, world, world.pending.pop(0))
    assert done.status == 0 and done.jobs == {"gate": "success", "work": "success"}, done.output + done.log[-3000:]
    return done


def verified(world, branch: str, tmp_path) -> dict[str, object]:
    """Verify all claims of the branch in a clone of what was pushed."""
    clone = tmp_path / "proof"
    subprocess.run(["git", "clone", "-q", str(world.bare.path), str(clone)], check=True)
    done = subprocess.run(
        [sys.executable, "-m", "prd2pr", "verify", f"origin/main..origin/{branch}", "--json"],
        cwd=clone, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def expect_all_integrated(world, done: ActResult, branch: str, stories: tuple[str, str], tmp_path) -> None:
    assert (done.outputs["outcome"], done.outputs["branch"]) == ("done", branch), done.output
    pull = world.pull(branch)
    assert done.outputs["pr"].endswith(f"/octo/calc/pull/{pull.number}")
    integrated = [phase for phase in world.phases(branch) if phase.startswith("integrated")]
    assert integrated == [f"integrated({story})" for story in stories]
    assert pull.pull is not None and not pull.pull.draft, "ready for review"
    assert "2 of 2 stories done" in pull.body and "2 of 2 stories done" in done.summary
    assert "2 of 2 stories done" in world.status_comment(pull.number).body
    gates = [f"prd2pr / {phase}({story})" for story in stories for phase in ("red", "green", "integrated")]
    concluded = {check.name: check.conclusion for check in world.checks()}
    assert {concluded.get(gate) for gate in gates} == {"success"}, concluded
    verified(world, branch, tmp_path)


def test_a_pushed_prd_becomes_a_pull_request_with_all_stories_integrated(source, world, ready, tmp_path):
    ready("none")
    world.push_prd("prds/calc.md", PRD)
    done = act(source, world)
    expect_all_integrated(world, done, "prd2pr/calc", ("calc-1", "calc-2"), tmp_path)


@pytest.mark.slow
def test_a_labelled_issue_becomes_a_pull_request(source, world, ready, tmp_path):
    world.answers_of_model = answers_for("issue-1")
    ready("plan")
    issue = world.open_issue("A small calculator", PRD.partition("# A small calculator\n")[2])
    world.pending.clear()
    world.label(issue.number, "prd2pr")
    planned = act(source, world)
    assert planned.outputs["outcome"] == "waiting", planned.output
    pull = world.pull("prd2pr/issue-1")
    assert pull.pull is not None and pull.pull.draft
    assert "/approve" in world.status_comment(pull.number).body
    world.comment(pull.number, "Looks right.\n\n/approve", by="wendy")
    done = act(source, world)
    expect_all_integrated(world, done, "prd2pr/issue-1", ("issue-1-1", "issue-1-2"), tmp_path)


def answers_for(prd: str) -> dict[str, Any]:
    """The same answers for a PRD with another id."""
    text = json.dumps({key.replace("calc/", f"{prd}/", 1): blocks for key, blocks in script().items()})
    answers: dict[str, Any] = json.loads(text.replace("calc-1", f"{prd}-1").replace("calc-2", f"{prd}-2"))
    return answers


# With something to refactor in each story there are ten phases to request.
LONG_ADD = "def add(a, b):\n    total = a + b\n    return total\n"
LONG_DOUBLE = f"{GREEN_ADD}\n\ndef double(a):\n    result = a * 2\n    return result\n"
REFACTORED = {
    "calc-1/green/builder/1/1": write("src/calc/sums.py", LONG_ADD),
    "calc-1/refactor/refactorer/1/1": write("src/calc/sums.py", GREEN_ADD),
    "calc-2/green/builder/1/1": write("src/calc/sums.py", LONG_DOUBLE),
    "calc-2/refactor/refactorer/1/1": write("src/calc/sums.py", GREEN_DOUBLE),
}
TEN = [f"{phase}({story})" for story in ("calc-1", "calc-2") for phase in PHASES]


@pytest.mark.slow
def test_ten_next_commands_run_one_phase_each(source, world, ready, tmp_path):
    world.answers_of_model = {**script(), **REFACTORED}
    ready("plan", "refactoring: always\n")
    world.push_prd("prds/calc.md", PRD)
    assert act(source, world).outputs["outcome"] == "waiting"
    number = world.pull().number
    done = None
    for nth in range(1, 11):
        world.comment(number, "/tdd next", by="wendy")
        done = act(source, world)
        assert phases_without_notes(world) == TEN[:nth], done.output
        assert done.outputs["phase"] == PHASES[(nth - 1) % 5]
    assert done is not None
    assert world.phases()[0] == "plan(calc)"
    expect_all_integrated(world, done, "prd2pr/calc", ("calc-1", "calc-2"), tmp_path)


def phases_without_notes(world) -> list[str]:
    """The phases, without the notes about decisions."""
    return [phase for phase in world.phases() if phase.partition("(")[0] in PHASES]
