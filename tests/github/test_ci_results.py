"""The results of the repository's own CI are stored with the first commit after they are known."""

from __future__ import annotations

import json

import pytest

from fakes.github.state import CheckRun
from github.conftest import verified
from github_world import GitHubWorld
from prd2pr.reports.board import BoardReader
from prd2pr.server.projection.update import build_story_pages
from prd2pr.state.git import Git


def add_check(world: GitHubWorld, name: str, sha: str, conclusion: str | None) -> None:
    number = world.fake.new_id()
    status = "completed" if conclusion else "in_progress"
    world.repo.checks[number] = CheckRun(number, name, sha, "github-actions", status, conclusion)


def next_phase(world: GitHubWorld) -> str:
    world.comment(world.pull().number, "/tdd next", by="wendy")
    done = world.act()
    assert done.status == 0, done.output
    return world.bare.git("rev-parse", world.branch).strip()


@pytest.mark.slow
def test_ci_results_of_a_commit_are_stored_with_the_next_one(started: GitHubWorld) -> None:
    world, path = started, ".orch-state/prds/calc/tdd/ci/calc-1.json"
    for _ in range(3):  # design, red, green
        green = next_phase(world)
    assert world.phases()[-1] == "green(calc-1)"
    add_check(world, "tests", green, "success")
    add_check(world, "lint", green, None)
    next_phase(world)
    assert path not in world.bare.git("ls-tree", "-r", "--name-only", world.branch), "lint was still running"

    done = world.bare.git("rev-parse", world.branch).strip()
    assert world.phases()[-1] == "integrated(calc-1)"
    add_check(world, "lint", done, "failure")
    add_check(world, "prd2pr / gates", done, "success")
    add_check(world, "lint", green, "success")
    next_phase(world)
    stored = json.loads(world.show(path))
    step = {
        each["commit"]: (each["step"], [(it["name"], it["conclusion"]) for it in each["checks"]])
        for each in stored["results"]
    }
    assert step[done] == (4, [("lint", "failure")])
    assert step[green][1][-1] == ("tests", "success")
    verified(world)
    with Git.open(world.bare.path) as git:
        source = BoardReader(git, "ann/calc").source(world.branch, "calc")
        assert source is not None
        page = next(each for each in build_story_pages(source) if each.id == "calc-1")
    (integrated,) = (each for each in page.steps if each.commit == done)
    assert integrated.facts[-1] == "The repository's CI: lint failure."
