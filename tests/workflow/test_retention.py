"""PRDs started by the schedule: only those whose push should have started a run and did not."""

from __future__ import annotations

import pytest

from github_world import WORKFLOW, GitHubWorld
from world import PRD

CONFIG = {".prd2pr.yml": "approval: plan\n"}


@pytest.fixture
def world(tmp_path):
    with GitHubWorld(tmp_path, files=CONFIG) as made:
        yield made


def scheduled(world) -> str:
    world.pending.clear()
    world.tick()
    acted = world.act()
    assert acted.status == 0, acted.output
    return str(acted.outputs["outcome"])


@pytest.mark.slow
def test_pushed_prd_with_a_lost_run_is_started_until_it_is_merged(world):
    world.push_prd("prds/calc.md", PRD)
    assert scheduled(world) == "waiting"
    world.merge(world.pull().number)
    world.delete_branch(world.branch, by="ada")
    assert scheduled(world) == "nothing-to-do"
    assert world.branch not in world.bare.heads()


@pytest.mark.slow
def test_prd_older_than_the_workflow_is_not_started(world):
    world.push({".github/workflows/prd2pr.yml": None}, by="ada")
    world.push_prd("prds/calc.md", PRD)
    world.push({".github/workflows/prd2pr.yml": WORKFLOW}, by="ada")
    assert scheduled(world) == "nothing-to-do"
    assert world.branch not in world.bare.heads()
