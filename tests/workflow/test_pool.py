"""Several workers on one PRD: effects on one worker, and limits over all of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from parallel_world import STEP, answers, breaking_answers, code_of, conflicting_answers, prd, start_parallel_world
from prd2pr.domain.scheduling import ONE_WORKER_NOTE
from server.app_world import wait_until
from world import World, say, write


def with_usage(world: World, tokens: int) -> Path:
    """The transcript with this many tokens for each answer."""
    path = world.transcript()
    first, *rest = path.read_text().splitlines()
    lines = (json.dumps({**json.loads(line), "usage": {"calls": 1, "input_tokens": tokens}}) for line in rest)
    path.write_text("\n".join([first, *lines]) + "\n")
    return path


def recorded_calls(world: World, *branches: str) -> int:
    """The calls recorded in all runs on any of the branches."""
    found: dict[str, int] = {}
    for branch in branches:
        for path in world.git("ls-tree", "--name-only", branch, ".orch-state/prds/calc/runs/").splitlines():
            found[path] = max(found.get(path, 0), json.loads(world.show(path, branch))["spend"]["calls"])
    return sum(found.values())


def story_branches(world: World) -> list[str]:
    return world.git("for-each-ref", "--format=%(refname:short)", "refs/heads/prd2pr-stories").split()


@pytest.mark.slow
def test_run_budget_covers_all_workers(tmp_path: Path) -> None:
    """1,000 tokens per call, 3,500 for the run: the plan and three more calls by any worker."""
    world = start_parallel_world(tmp_path, 2, cold=True)
    world.write({".prd2pr.yml": "budget:\n  tokens_per_run: 3500\n"})
    world.commit("a limit")
    model = f"replay:{with_usage(world, 1000)}"
    done = world.program("run", "prds/calc.md", "--model", model, "--workers", "2")
    assert done.status == 1, done.out
    assert "tokens_per_run" in done.err
    assert "4.0k tokens of 3.5k tokens" in done.err, done.err
    assert len(story_branches(world)) == 2, "what was begun stays, each story on its branch"
    assert recorded_calls(world, world.branch, *story_branches(world)) <= 4
    (prd,) = world.program("status", "--json").json["prds"]
    assert [(each["status"], each["branch"]) for each in prd["stories"]] == [
        ("in_progress", branch) for branch in story_branches(world)
    ], "and is told from there"
    assert "(on prd2pr-stories/calc/calc-2)" in world.program("status").out


@pytest.mark.slow
def test_a_blocked_story_is_shown_on_the_prds_branch_and_others_are_integrated(tmp_path: Path) -> None:
    world = start_parallel_world(tmp_path, 3, cold=True)
    right = world.answers["calc-2/green/builder/1/1"]
    for attempt in (1, 2, 3, 4):
        wrong = f"def cut(a):\n    return {attempt}\n"
        world.answers[f"calc-2/green/builder/{attempt}/1"] = write("src/calc/cut_it.py", wrong)
    done = world.run("--workers", "2")
    assert done.status == 1, done.out
    assert "calc-2" in done.out
    assert "green was refused" in done.out
    assert story_branches(world) == [], "people find it on the PRD's branch"
    backlog = json.loads(world.show(".orch-state/prds/calc/backlog.json"))
    states = {story["id"]: story["status"] for story in backlog["stories"]}
    assert states["calc-2"] == "blocked"
    assert states["calc-1"] == "done"
    assert world.verify(world.branch).status == 0

    world.answers["calc-2/green/builder/1/1"] = right
    assert code_of("cut") in json.dumps(right).encode().decode("unicode_escape")
    again = world.run("--story", "calc-2")
    assert again.status == 0, again.out + again.err
    assert world.run("--workers", "2").status == 0
    assert "all proved" in world.verify(world.branch).out


@pytest.mark.slow
def test_one_worker_continues_the_work_of_several(tmp_path: Path) -> None:
    """The transcript ends for both stories after RED; the next run has the rest and a single worker."""
    world = start_parallel_world(tmp_path, 2, cold=True)
    kept = {key: world.answers.pop(key) for key in list(world.answers) if "/green/" in key}
    assert world.run("--workers", "2").status == 1
    assert len(story_branches(world)) == 2
    world.answers |= kept
    stepped = world.next()
    assert stepped.status == 0, stepped.out + stepped.err
    assert world.run().status == 0
    assert story_branches(world) == []
    assert "all proved" in world.verify(world.branch).out


@pytest.mark.slow
def test_three_conflicting_stories_are_all_integrated(tmp_path: Path) -> None:
    """The plan does not show that they write to the same place. No two of them can be merged."""
    world = start_parallel_world(tmp_path, 3, cold=True)
    for number, name in enumerate(("add", "cut", "double"), 1):
        world.answers |= conflicting_answers(number, name)
    done = world.run("--workers", "3")
    assert done.status == 0, done.out + done.err
    assert done.out.count("restarts on the new base") == 2, done.out
    assert all(f"def {name}(a):" in world.show("src/calc/signs.py") for name in ("add", "cut", "double"))
    assert "all proved" in world.verify(world.branch).out


def without_sandbox(root: Path) -> World:
    """Two stories, and a test that needs exclusive use of a resource of the machine."""
    alone = f"""
import os
import time

from calc.signs import negate


def test_negates():
    handle = os.open({str(root / "mine")!r}, os.O_CREAT | os.O_EXCL)
    time.sleep(0.5)
    os.close(handle)
    os.unlink({str(root / "mine")!r})
    assert negate(3) == -3
"""
    world = World(root / "world", answers=answers(2), cold=True)
    files = {"prds/calc.md": prd(2), "tests/test_signs.py": alone, ".prd2pr.yml": 'sandbox: "off"\n'}
    return world.start(files)


@pytest.mark.slow
def test_without_a_sandbox_one_worker_proves_steps_in_sequence(tmp_path: Path) -> None:
    world = without_sandbox(tmp_path)
    done = world.run("--workers", "2")
    assert done.status == 0, done.out + done.err
    assert done.out.count(ONE_WORKER_NOTE) == 1, done.out
    subjects_made = world.git("log", "--format=%s", f"main..{world.branch}")
    assert "join" not in subjects_made, "one after the other, on the PRD's own branch"
    proved = world.verify(world.branch, "--fresh", "--workers", "2")
    assert proved.status == 0, proved.out
    assert "all proved" in proved.out
    assert proved.out.count(ONE_WORKER_NOTE) == 1


@pytest.mark.slow
def test_workers_leave_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = tmp_path / "tmp"
    left.mkdir(mode=0o711)
    monkeypatch.setenv("TMPDIR", str(left))
    tmp_path.chmod(0o711)
    world = start_parallel_world(tmp_path / "world", 3, cold=True)
    done = world.run("--workers", "2")
    assert done.status == 0, done.out + done.err
    wait_until(lambda: not list(left.iterdir()), 120)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_stopped_workers_leave_nothing_behind_and_are_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: signal.Signals
) -> None:
    left = tmp_path / "tmp"
    left.mkdir(mode=0o711)
    monkeypatch.setenv("TMPDIR", str(left))
    tmp_path.chmod(0o711)
    world = start_parallel_world(tmp_path / "world", 3, cold=True)
    command = [sys.executable, "-m", "prd2pr", "run", "prds/calc.md", "--model", f"replay:{world.transcript()}"]
    with subprocess.Popen([*command, "--workers", "2"], cwd=world.repo, start_new_session=True) as run:
        wait_until(lambda: any("red(" in subject for subject in subjects(world)), 120)
        os.killpg(run.pid, how) if how is signal.SIGINT else run.send_signal(how)
        assert run.wait(120) != 0
    wait_until(lambda: not list(left.iterdir()), 120)
    assert world.run("--workers", "2").status == 0
    assert "all proved" in world.verify(world.branch).out


def subjects(world: World) -> list[str]:
    return world.git("log", "--format=%s", "--branches=prd2pr-stories/*", check=False).splitlines()


@pytest.mark.slow
def test_single_worker_keeps_the_prd_budget_and_reports_the_cost(tmp_path: Path) -> None:
    """1,000 tokens per call. Three stories have their design, and six calls in total are allowed."""
    world = start_parallel_world(tmp_path, 3, cold=True)
    kept = {key: world.answers.pop(key) for key in list(world.answers) if "/red/" in key}
    assert world.program("run", "prds/calc.md", "--model", f"replay:{with_usage(world, 1000)}", "--workers", "3").status
    assert len(story_branches(world)) == 3
    world.answers |= kept
    world.write({".prd2pr.yml": "budget:\n  tokens_per_prd: 6000\n"})
    world.commit("a limit")
    done = world.program("run", "prds/calc.md", "--model", f"replay:{with_usage(world, 1000)}", "--json")
    assert done.status == 1, done.out
    assert "tokens_per_prd" in done.err, done.err
    assert recorded_calls(world, world.branch, *story_branches(world)) <= 7
    world.write({".prd2pr.yml": ""})
    world.commit("no limit")
    told = world.program("run", "prds/calc.md", "--model", f"replay:{with_usage(world, 1000)}", "--json").json
    assert told["outcome"] == "done"
    assert told["steps"] >= 5
    assert told["spend"]["calls"] == sum(role["calls"] for role in told["roles"].values()) >= 3


@pytest.mark.slow
def test_two_blocked_stories_are_decided_in_turn(tmp_path: Path) -> None:
    world = start_parallel_world(tmp_path, 3, cold=True)
    right = {f"calc-{n}/green/builder/1/1": world.answers[f"calc-{n}/green/builder/1/1"] for n in (1, 2)}
    for n, name in ((1, "add"), (2, "cut")):
        for attempt in (1, 2, 3, 4):
            wrong = write(f"src/calc/{name}_it.py", f"def {name}(a):\n    return {30 + attempt}\n")
            world.answers[f"calc-{n}/green/builder/{attempt}/1"] = wrong
    for _ in range(2):  # the second time there is no decision yet
        stopped = world.run("--workers", "2")
        assert stopped.status == 1, stopped.out
        assert "calc-1" in stopped.out.partition("Stopped")[2].splitlines()[0], stopped.out
        assert story_branches(world) == ["prd2pr-stories/calc/calc-2"]
    world.answers |= right
    assert world.run("--story", "calc-1").status == 0
    again = world.run("--workers", "2")
    assert again.status == 1
    assert "calc-2" in again.out.partition("Stopped")[2].splitlines()[0], again.out
    assert world.run("--story", "calc-2").status == 0
    assert world.run("--workers", "2").status == 0
    assert "all proved" in world.verify(world.branch).out


def fully_judged(root: Path, *, met: bool) -> World:
    """Two stories in the profile `full`, with the reviewer's answer about the second."""
    way = {"name": "a module", "how": "calc.sums", "gains": "small", "risks": "none"}
    ways = {"approaches": [way, {**way, "name": "a class"}], "recommended": 1, "because": "smaller", "unknowns": []}
    minutes = {"optimistic": 3, "likely": 6, "pessimistic": 9, "complexity": 2}
    world = World(root, answers=answers(2), cold=True)
    world.answers |= {
        "calc/plan/why/1/1": say({"purpose": "People can add.", "reasoning": "Nothing adds yet."}),
        "calc/plan/research/1/1": say(ways),
        "calc/plan/security/1/1": say({"risks": [], "summary": "Numbers only."}),
        "calc/plan/estimator/1/1": say({"stories": [{"story": f"calc-{n}", **minutes} for n in (1, 2)]}),
        "calc-1/integrated/review/1/1": say(review_of("calc-1")),
        "calc-2/integrated/review/1/1": say(review_of("calc-2", met=met)),
        "calc/integrated/retrospective/1/1": say({}),
    }
    files = {"prds/calc.md": prd(2), "src/calc/signs.py": STEP, ".prd2pr.yml": "profile: full\n"}
    return world.start(files)


def review_of(story: str, *, met: bool = True) -> dict[str, object]:
    return {"criteria": [{"criterion": f"{story}.c1", "met": met, "evidence": "by its tests"}], "summary": "Looked at."}


@pytest.mark.slow  # test_merges.py: without workers
@pytest.mark.parametrize("met", [True, False])
def test_merge_that_breaks_a_test_is_dropped_whatever_the_review(tmp_path: Path, met: bool) -> None:
    """The reviewer is only asked about code that passes."""
    world = fully_judged(tmp_path, met=met)
    world.answers |= breaking_answers()
    done = world.run("--workers", "2")
    assert "calc-2 cannot be merged with the stories integrated since: tests fail " in done.out
    assert "all proved" in world.verify(world.branch).out
    assert world.show("src/calc/signs.py") == STEP.strip()
    backlog = json.loads(world.show(".orch-state/prds/calc/backlog.json"))
    assert [story["status"] for story in backlog["stories"]] == ["done", "done" if met else "blocked"], done.out
