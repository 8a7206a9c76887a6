"""Damage to the branch, the disk or a person's unfinished work: what is reported and what is kept."""

from __future__ import annotations

import gzip
import json
import os
import pty
import signal
import subprocess
import sys
import time

import pytest

from prd2pr.state.codec import compress
from prd2pr.workflow.roles.role_runner import KEPT_DAYS, delete_old_kept_work
from world import GREEN_ADD, RED_ADD, World, write


def remove(world: World, name: str) -> None:
    world.git("switch", "-q", world.branch)
    world.git("rm", "-rq", f".orch-state/{name}")
    world.commit(f"Remove {name}")
    world.git("switch", "-q", "main")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["prds/calc/prd.json", "prds/calc/status.json", "project.json", "prds/calc/tdd/cycles/calc-1.json"]
)
def test_missing_state_file_is_damage_and_not_a_new_start(world, name):
    for _ in range(3):
        assert world.next().status == 0
    remove(world, name)
    before = world.phases()
    done = world.run()
    assert done.status == 1, done.out
    assert name in done.err
    assert "git restore --source=" in done.err
    assert world.phases() == before, "nothing was paid for or committed"


@pytest.mark.slow
def test_branch_deleted_during_a_run_stays_deleted(world, tmp_path):
    world.next()
    world.next()
    program = tmp_path / "deletes.py"
    program.write_text(
        "import subprocess, sys\n"
        f"subprocess.run(['git', '-C', {str(world.repo)!r}, 'branch', '-D', 'prd2pr/calc'], check=True)\n"
        "from pathlib import Path\n"
        "path = Path('tests/tdd/calc-1/test_calc_1_add.py')\n"
        "path.parent.mkdir(parents=True)\n"
        f"path.write_text({RED_ADD!r})\n"
        "print('done')\n"
    )
    done = world.program("next", "prds/calc.md", "--model", f"command:{sys.executable} {program}")
    assert done.status == 1
    assert "deleted or moved" in done.err
    assert world.git("branch", "--list", world.branch) == ""


@pytest.mark.slow
def test_run_summary_counts_only_stories_that_are_still_proved(world):
    assert "10 of 10 steps proved" in world.run().out
    world.git("switch", "-q", world.branch)
    world.write({"NOTES.md": "by hand\n"})
    world.commit("by hand")
    world.git("switch", "-q", "main")
    again = world.run()
    assert "10 of 11 steps proved" in again.out
    assert "1 of 11 commits are not proved steps" in again.out


@pytest.mark.slow
def test_interrupted_work_of_a_person_is_kept(world):
    world.next()
    world.next()
    main, other = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "prd2pr", "next", "prds/calc.md", "--model", "human"],
        cwd=world.repo, stdin=other, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    os.close(other)
    work = world.repo / ".git/prd2pr/work/calc"
    deadline = time.monotonic() + 120
    while not list(work.glob("by-hand-*/repository/tests")) and time.monotonic() < deadline:
        time.sleep(0.1)
    (place,) = work.glob("by-hand-*/repository")
    (place / "mine.txt").write_text("an hour of work")
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    os.close(main)
    assert process.returncode == 130, err
    (kept,) = (world.repo / ".git/prd2pr/kept").glob("*/repository/mine.txt")
    assert kept.read_text() == "an hour of work"
    assert "kept in" in out


def test_read_only_worker_leaves_nothing_behind(world):
    """A planner that edits files directly gets a copy of the repository, which is discarded."""
    failed = world.program("plan", "prds/calc.md", "--model", "command:false")
    assert failed.status != 0
    assert not (world.repo / ".git/prd2pr/kept").exists(), failed.out


def test_kept_work_expires(tmp_path):
    for name, days in (("calc-old", KEPT_DAYS + 1), ("calc-new", KEPT_DAYS - 1)):
        (tmp_path / name / "repository").mkdir(parents=True)
        os.utime(tmp_path / name, (0, 1e9 - days * 86_400))
    delete_old_kept_work(tmp_path, 1e9)
    assert [each.name for each in tmp_path.iterdir()] == ["calc-new"]
    delete_old_kept_work(tmp_path / "none", 1e9)


# Simulates a kernel without namespaces: prd2pr itself runs under the seccomp filter that its sandbox uses for tests.
WITHOUT_NAMESPACES = """
import runpy, sys
from prd2pr.sandbox.jail import syscalls as calls, seccomp
calls.prctl(calls.NO_NEW_PRIVS, 1, "no_new_privs")
seccomp.install_filter(seccomp.build_filter(calls.get_machine()))
sys.argv[0] = "prd2pr"
runpy.run_module("prd2pr", run_name="__main__")
"""


def run_without_namespaces(world, **environment):
    run = ("run", "prds/calc.md", "--model", f"replay:{world.transcript()}")
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_NAMESPACES, *run],
        cwd=world.repo, capture_output=True, text=True, check=False, env={**os.environ, **environment},
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["sandbox: required\n", ""])
def test_missing_sandbox_is_reported_before_any_paid_call(world, setting):
    """In Actions it is required by default, and every kind of runner gets its option."""
    if setting:
        world.write({".prd2pr.yml": setting})
        world.commit("strict")
    done = run_without_namespaces(world, GITHUB_ACTIONS="" if setting else "true")
    assert done.returncode == 1, done.stderr
    assert "this machine does not provide all of it" in done.stderr
    assert "sandbox: preferred" in done.stderr
    for option in () if setting else ("container:", "Actions Runner Controller", "without `sudo`"):
        assert option in done.stderr
    assert not world.subjects()


@pytest.mark.slow
def test_explicit_setting_wins_in_actions(world):
    world.write({".prd2pr.yml": "sandbox: preferred\n"})
    world.commit("loose")
    done = run_without_namespaces(world, GITHUB_ACTIONS="true")
    assert done.returncode == 0, done.stderr
    assert world.subjects()


@pytest.mark.parametrize("verb", [("gate", "green", "--base", "HEAD"), ("verify",)])
def test_inconclusive_run_is_not_a_refusal(world, tmp_path, verb):
    world.write({".prd2pr.yml": "strategie: x\n"})
    world.commit("typo")
    assert world.program(*verb).status == 2
    (tmp_path / "nowhere").mkdir()
    assert world.program(*verb, "--repo", str(tmp_path / "nowhere")).status == 2


def test_file_in_the_way_is_not_reported_as_a_bug(world):
    (world.repo / "demo").write_text("a file\n")
    for place in ("demo", "demo/x"):
        done = world.program("demo", "--dir", place)
        assert done.status == 1, done.err
        assert "Traceback" not in done.err


def test_recording_a_worker_that_edits_files_is_refused(world, tmp_path):
    done = world.program("run", "prds/calc.md", "--model", "command:true", "--record", str(tmp_path / "t.jsonl"))
    assert done.status == 2
    assert "--record" in done.err


@pytest.mark.parametrize(
    "answer",
    [
        '{"content": ' + "[" * 100_000,
        '{"content": "\\ud800"}',
        '{"content": "x", "usage": {"input_tokens": -5}}',
        "{nope",
    ],
    ids=["deep", "surrogate", "negative", "half"],
)
def test_garbage_from_the_model_is_not_reported_as_a_bug(world, tmp_path, answer):
    (tmp_path / "answer").write_text(answer)
    done = world.program("plan", "prds/calc.md", "--model", f"command:cat {tmp_path / 'answer'}")
    assert done.status == 1, done.err
    assert "Traceback" not in done.err


@pytest.mark.slow
def test_damaged_logs_are_named_and_the_rest_is_shown(world):
    world.next()
    world.git("switch", "-q", world.branch)
    (log,) = (world.repo / ".orch-state/logs").glob("*.jsonl.gz")
    log.write_bytes(compress(gzip.decompress(log.read_bytes()) + b"{half\n[]\n"))
    world.commit("damage")
    world.git("switch", "-q", "main")
    done = world.program("logs")
    assert done.status == 0, done.err
    assert done.out.count("cannot be read") == 2
    assert "calc/plan/planner" in done.out


def test_a_link_out_of_the_checkout_is_never_written_through(world, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    link = world.repo / "tests/elsewhere"
    link.symlink_to(outside)
    world.commit("a link that leads out")
    world.answers["calc-1/green/builder/1/1"] = write("src/calc/sums.py", GREEN_ADD)
    world.run("--story", "calc-1")
    world.program("gate", "green", "--base", "HEAD~1", "--head", "HEAD")
    assert list(outside.iterdir()) == []


@pytest.mark.slow
def test_huge_or_endless_prd_is_not_read_completely(world):
    os.mkfifo(world.repo / "prds/pipe.md")
    for name in ("prds/pipe.md", "/dev/zero"):
        done = world.program("plan", name, "--model", "human")
        assert done.status == 1, done.err
    assert json.loads(world.program("status", "--json").out) == {"prds": []}
