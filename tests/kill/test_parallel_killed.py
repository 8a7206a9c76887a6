"""One worker killed, then all of them with the run: nothing is lost, nothing is done twice.

`make parallel-kill-battery` is the long form.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from kill.parallel_battery import CALLS_OF_A_STORY, children, command, read_end_state, wait_for_orphans
from parallel_world import start_parallel_world
from world import COMPLETION, show_runs


@pytest.mark.slow
def test_a_killed_worker_is_replaced_and_a_killed_run_continues(tmp_path: Path) -> None:
    world = start_parallel_world(tmp_path / "killed", 2, cold=True)
    run = subprocess.Popen(
        command(world, 2), cwd=world.repo, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert run.stdout is not None
    said, dead = [], False
    for line in run.stdout:
        said.append(line)
        if " design " in line and not dead:
            (nursery,) = children(run.pid)
            os.kill(children(nursery)[0], signal.SIGKILL)
            dead = True
        if " integrated " in line:
            os.killpg(run.pid, signal.SIGKILL)
            break
    run.wait()
    wait_for_orphans(run.pid)
    assert any("was killed; another one resumes it" in line for line in said), said

    again = world.run("--workers", "2")
    assert again.status == 0, again.out + again.err
    assert "Resumed" in again.out
    steps = [f"calc/calc-{n}/{step}" for n in (1, 2) for step in (1, 2, 3, 4)]
    assert read_end_state(world).steps == (*steps, "calc/plan/1", "calc/plan/2")
    assert world.git("branch", "--list", "prd2pr-stories/*") == ""
    proof = world.verify(world.branch)
    assert proof.status == 0, proof.out
    assert "all proved: 10 of 10 steps" in proof.out


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.0, 0.1, 0.3])
def test_a_run_killed_after_the_last_join_is_completed_by_the_next_one(tmp_path: Path, delay: float) -> None:
    """Before, during or after the step that removes the records. The next run finds either all of them or none."""
    world = start_parallel_world(tmp_path / "killed", 2, cold=True)
    run = subprocess.Popen(
        command(world, 2), cwd=world.repo, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert run.stdout is not None
    joined = 0
    for line in run.stdout:
        joined += " integrated " in line
        if joined == 2:
            time.sleep(delay)
            os.killpg(run.pid, signal.SIGKILL)
            break
    run.wait()
    wait_for_orphans(run.pid)
    assert joined == 2

    again = world.run("--workers", "2")
    assert again.status == 0, again.out + again.err
    assert world.subjects()[-1] == COMPLETION
    assert world.subjects().count(COMPLETION) == 1
    left = world.git("ls-tree", "-r", "--name-only", world.branch, ".orch-state/prds/calc").splitlines()
    assert [path.rpartition("/")[2] for path in left] == ["status.json", "summary.json", "2-note.json"]
    assert sum(each["spend"]["calls"] for each in show_runs(world.repo, world.branch)) == 1 + 2 * CALLS_OF_A_STORY
    proof = world.verify(world.branch)
    assert proof.status == 0, proof.out
    assert "all proved: 10 of 10 steps" in proof.out
