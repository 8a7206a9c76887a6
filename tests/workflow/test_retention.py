"""What the schedule begins: PRDs whose push should have started them and did not, and no others."""

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


def test_a_pushed_prd_whose_run_was_lost_is_begun_and_once_merged_left_alone(world):
    world.push_prd("prds/calc.md", PRD)
    assert scheduled(world) == "waiting"
    world.merge(world.pull().number)
    world.delete_branch(world.branch, by="ada")
    assert scheduled(world) == "nothing-to-do"
    assert world.branch not in world.bare.heads()


def test_a_prd_that_is_older_than_the_workflow_is_not_begun(world):
    world.push({".github/workflows/prd2pr.yml": None}, by="ada")
    world.push_prd("prds/calc.md", PRD)
    world.push({".github/workflows/prd2pr.yml": WORKFLOW}, by="ada")
    assert scheduled(world) == "nothing-to-do"
    assert world.branch not in world.bare.heads()
