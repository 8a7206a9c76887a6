"""`/project register`: what the base branch lacks, as one pull request."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from github_world import GitHubWorld
from prd2pr.github.setup.onboarding import SETUP_BRANCH

pytestmark = pytest.mark.slow

New = Callable[..., GitHubWorld]

ALL = {".prd2pr.yml": "approval: plan\n", "prds/_template.md": "# A template\n"}


def test_what_is_missing_comes_as_one_pull_request(new: New) -> None:
    world = new()
    register(world)
    register(world)
    (pull,) = world.pulls()
    assert pull.title == "Set up prd2pr"
    made = world.bare.git("diff", "--name-status", f"main...{SETUP_BRANCH}").split("\n")
    assert made == [f"A\t{path}" for path in sorted(pull_files(pull.body))]
    assert [f"#{pull.number}" in answer.body for answer in world.answers()] == [True, True]


def test_where_all_is_there_nothing_is_opened(new: New) -> None:
    world = new()
    world.push(ALL, "ada")
    world.pending.clear()
    register(world)
    assert not world.pulls()
    assert "nothing is missing on" in world.answers()[-1].body


@pytest.mark.parametrize(("by", "answers"), [("rea", 0), ("tria", 1)])
def test_whoever_may_not_write_sets_nothing_up(new: New, by: str, answers: int) -> None:
    world = new()
    register(world, by=by)
    assert not world.pulls()
    assert SETUP_BRANCH not in world.bare.heads()
    assert ["needs the permission `write`" in answer.body for answer in world.answers()] == [True] * answers


def test_it_is_about_the_repository_also_where_the_prd_is_over(planned: GitHubWorld) -> None:
    number = planned.pull().number
    planned.close(number)
    planned.pending.clear()
    planned.comment(number, "/project register", by="ada")
    planned.act()
    assert SETUP_BRANCH in planned.bare.heads(), planned.answers()[-1].body
    assert "sets" in planned.answers()[-1].body


def register(world: GitHubWorld, by: str = "ada") -> None:
    issue = world.open_issue("Hello", "x")
    world.pending.clear()
    world.comment(issue.number, "/project register", by=by)
    world.act()


def pull_files(body: str) -> list[str]:
    return [line.strip("- `") for line in body.splitlines() if line.startswith("- ")]
