"""Several workers on one PRD: what one of them meets, and what holds over all of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from side_by_side_world import beside, code_of
from world import World, write


def with_usage(world: World, tokens: int) -> Path:
    """The transcript, with so many tokens for each answer."""
    path = world.transcript()
    first, *rest = path.read_text().splitlines()
    lines = (json.dumps({**json.loads(line), "usage": {"calls": 1, "input_tokens": tokens}}) for line in rest)
    path.write_text("\n".join([first, *lines]) + "\n")
    return path


def recorded_calls(world: World, *branches: str) -> int:
    """On record in all runs that any of the branches holds."""
    found: dict[str, int] = {}
    for branch in branches:
        for path in world.git("ls-tree", "--name-only", branch, ".orch-state/prds/calc/runs/").splitlines():
            found[path] = max(found.get(path, 0), json.loads(world.show(path, branch))["spend"]["calls"])
    return sum(found.values())


def story_branches(world: World) -> list[str]:
    return world.git("for-each-ref", "--format=%(refname:short)", "refs/heads/prd2pr-stories").split()


def test_the_budget_of_a_run_holds_over_all_workers(tmp_path: Path) -> None:
    """1,000 tokens a call, 3,500 for the run: the plan and three more, whoever makes them."""
    world = beside(tmp_path, 2, cold=True)
    world.write({".prd2pr.yml": "budget:\n  tokens_per_run: 3500\n"})
    world.commit("a limit")
    model = f"replay:{with_usage(world, 1000)}"
    done = world.program("run", "prds/calc.md", "--model", model, "--workers", "2")
    assert done.status == 1, done.out
    assert "the budget of this run is used up" in done.err
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
    world = beside(tmp_path, 3, cold=True)
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
def test_one_worker_goes_on_with_what_several_have_left(tmp_path: Path) -> None:
    """The transcript ends for both stories after RED; then the rest is there, and nobody asks for several workers."""
    world = beside(tmp_path, 2, cold=True)
    kept = {key: world.answers.pop(key) for key in list(world.answers) if "/green/" in key}
    assert world.run("--workers", "2").status == 1
    assert len(story_branches(world)) == 2
    world.answers |= kept
    stepped = world.next()
    assert stepped.status == 0, stepped.out + stepped.err
    assert world.run().status == 0
    assert story_branches(world) == []
    assert "all proved" in world.verify(world.branch).out
