"""Bad input gives a clear message, loses nothing, and the same command resumes afterwards."""

from __future__ import annotations

import copy
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from world import PLAN, World, say


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(("error:", "where:", "to do:"))]


def test_not_a_repository(tmp_path):
    (tmp_path / "repo").mkdir()
    done = World(tmp_path).program("run", "prds/calc.md")
    assert done.status == 1
    assert "not a git repository" in done.err
    assert "git init" in done.err


def test_a_repository_without_commits(tmp_path):
    world = World(tmp_path)
    world.write({"prds/calc.md": "# Calc\n\n- FR-1: adds.\n"})
    world.git("init", "-q")
    done = world.run()
    assert done.status == 1
    assert "no commit yet" in done.err


@pytest.mark.slow
def test_dirty_tree_is_unchanged(world):
    world.write({"src/calc/signs.py": "broken(", "notes.txt": "mine"})
    done = world.run("--max-steps", "1")
    assert world.phases() == ["plan(calc)"]
    assert "src/calc/signs.py" in done.out and "notes.txt" in done.out
    assert (world.repo / "src/calc/signs.py").read_text() == "broken("


@pytest.mark.slow
def test_detached_head_may_be_the_base(world):
    world.git("checkout", "-q", "--detach")
    done = world.run()
    assert done.status == 0, done.out + done.err
    assert "detached" in done.out


def test_the_test_runner_is_missing(world, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    world.write({".prd2pr.yml": f"test:\n  python: {tmp_path}/bare/bin/python\n"})
    world.commit("bare interpreter")
    done = world.run()
    assert done.status == 1
    assert "pytest" in done.err and "to do:" in done.err


def test_no_model_is_configured(world):
    done = world.program("run", "prds/calc.md", env={"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": ""})
    assert done.status == 1
    assert "ANTHROPIC_API_KEY" in done.err
    assert world.git("branch", "--list", world.branch) == ""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "empty"),
        ("\n \n", "empty"),
        ("x" * 600_000, "KiB"),
        ("---\nid: [\n---\n# T\n\ntext", "line"),
        ("---\na: &x 1\nb: *x\n---\n# T\n\n- FR-1: must add.\n", "alias"),
        ("# T\n\n- **FR-1** It must add.\n- **FR-1** It must subtract.\n", "FR-1"),
    ],
)
def test_invalid_prd(world, content, said):
    (world.repo / "prds/calc.md").write_text(content)
    done = world.run()
    assert done.status == 1
    assert said in done.err.lower() or said in done.err
    assert "prds/calc.md" in done.err
    assert world.git("branch", "--list", world.branch) == ""


def test_missing_prd(world):
    done = world.program("run", "prds/nothing.md", "--model", "human")
    assert done.status == 1
    assert "prds/nothing.md" in done.err


@pytest.mark.slow
def test_plan_with_a_dependency_cycle_is_refused(world):
    plan = copy.deepcopy(PLAN)
    plan["stories"][0]["depends_on"] = ["S2"]
    for attempt in (1, 2, 3):
        world.answers[f"calc/plan/planner/{attempt}/1"] = say(plan)
    done = world.run()
    assert done.status == 1
    assert "S1 → S2 → S1" in done.err or "S2 → S1 → S2" in done.err
    assert world.git("branch", "--list", world.branch) == ""


def edit_state(world: World, name: str, change) -> None:
    path = f".orch-state/prds/calc/{name}"
    world.git("switch", "-q", world.branch)
    (world.repo / path).write_text(change((world.repo / path).read_text()))
    world.commit(f"touch {name}")
    world.git("switch", "-q", "main")


def test_corrupted_state_names_the_last_valid_commit(world):
    world.next()
    valid = world.git("rev-parse", "--short=10", world.branch)
    edit_state(world, "backlog.json", lambda text: text[:40])
    done = world.next()
    assert done.status == 1
    assert "backlog.json" in done.err
    assert valid in done.err


def test_newer_state_is_refused(world):
    world.next()
    edit_state(world, "status.json", lambda text: json.dumps({**json.loads(text), "schema_version": 99}))
    done = world.next()
    assert done.status == 1
    assert "newer" in done.err and "pgrade" in done.err


@pytest.mark.slow
def test_checked_out_branch_is_not_moved(world):
    world.next()
    world.git("switch", "-q", world.branch)
    head = world.git("rev-parse", "HEAD")
    done = world.next()
    assert done.status == 1
    assert "checked out" in done.err
    assert world.git("rev-parse", "HEAD") == head


@pytest.mark.slow
def test_a_commit_by_a_person_is_kept_and_named_as_unproven(world):
    world.next()
    world.git("switch", "-q", world.branch)
    world.write({"NOTES.md": "by hand\n"})
    stranger = world.commit("A note by hand")
    world.git("switch", "-q", "main")
    assert world.run().status == 0
    verified = world.verify("--json")
    assert verified.status == 1
    unproven = [step for step in verified.json["steps"] if not step["proved"]]
    assert [(step["commit"], step["step"], step["findings"][0]["code"]) for step in unproven] == [
        (stranger, None, "VER103")
    ]


@pytest.mark.slow
def test_a_locked_test_that_a_person_changed_is_named_before_any_attempt(world):
    for _ in range(3):
        world.next()
    assert world.phases()[-1] == "red(calc-1)"
    world.git("switch", "-q", world.branch)
    path = "tests/tdd/calc-1/test_calc_1_add.py"
    world.write({path: "def test_nothing():\n    pass\n"})
    world.commit("by hand")
    world.git("switch", "-q", "main")
    done = world.next()
    assert done.status == 1
    assert f"`{path}` was changed after RED" in done.out
    assert world.phases()[-1] != "note(calc-1)", "no attempt was made, and nothing is blocked"
    world.git("switch", "-q", world.branch)
    world.git("revert", "--no-edit", "HEAD")
    world.git("switch", "-q", "main")
    assert world.next().status == 0
    assert world.phases()[-1] == "green(calc-1)"


@pytest.mark.slow
def test_stale_lock_does_not_block_the_branch(world):
    world.next()
    for name in ("index.lock", f"refs/heads/{world.branch}.lock"):
        (world.repo / ".git" / name).write_text("")
        os.utime(world.repo / ".git" / name, (1, 1))
    done = world.next()
    assert done.status == 0, done.err
    assert world.phases()[-1] == "design(calc-1)"


@pytest.mark.slow
def test_unknown_story(world):
    world.next()
    done = world.run("--story", "calc-9")
    assert done.status == 1
    assert "calc-1" in done.out and "calc-2" in done.out


def test_a_bad_config_names_line_and_suggestion(world):
    world.write({".prd2pr.yml": "prds: ['prds/*.md']\nstrategie: strict\n"})
    world.commit("typo")
    done = world.run()
    assert done.status == 1
    assert ".prd2pr.yml:2" in done.err
    assert "strategy" in done.err


def test_unknown_role_is_an_error_with_a_suggestion(world):
    world.write({".prd2pr.yml": "models:\n  roles:\n    bulder: human\n"})
    world.commit("typo")
    done = world.run()
    assert done.status == 1
    assert "did you mean `builder`?" in done.err


def test_ctrl_c_stops_cleanly_and_the_same_command_resumes(world):
    world.next()
    slow = "import time\n\n\ndef test_slow():\n    time.sleep(30)\n"
    world.write({"tests/test_slow.py": slow})
    world.commit("a slow test")
    world.git("branch", "-D", world.branch)
    command = [sys.executable, "-m", "prd2pr", "run", "prds/calc.md", "--model", f"replay:{world.transcript()}"]
    process = subprocess.Popen(command, cwd=world.repo, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while "design(calc-1)" not in world.phases() and time.monotonic() < deadline:
        time.sleep(0.2)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command again" in err
    assert "Traceback" not in err
    assert world.phases() == ["plan(calc)", "design(calc-1)"]


@pytest.mark.slow
def test_concurrent_runs_exclude_each_other(world):
    world.next()
    lock = world.repo / ".git/prd2pr"
    hold = """
import sys, time
from prd2pr.state.git import Git
with Git.open(sys.argv[1]).lock("branch-calc"):
    print("held", flush=True)
    time.sleep(60)
"""
    command = [sys.executable, "-c", hold, str(world.repo)]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        done = world.next()
    finally:
        holder.kill()
        holder.communicate()
    assert lock.exists()
    assert done.status == 1
    assert "another prd2pr process works" in done.err
    assert world.next().status == 0
