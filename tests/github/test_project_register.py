"""`/project register`: adds what the base branch lacks in one pull request."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from github_world import GitHubWorld
from prd2pr.github.messages.rendering import render_reply
from prd2pr.github.messages.replies import RegisterReply
from prd2pr.github.setup.onboarding import SETUP_BRANCH

New = Callable[..., GitHubWorld]

ALL = {
    ".prd2pr.yml": "approval: plan\n",
    "prds/_template.md": "# A template\n",
    ".orch-state/architecture.md": "# Architecture\n",
    ".orch-state/best-practices.md": "# Best practices\n",
}


def test_missing_files_come_in_one_pull_request(new: New) -> None:
    world = new()
    register(world)
    register(world)
    (pull,) = world.pulls()
    assert pull.title == "Set up prd2pr"
    assert {".orch-state/architecture.md", ".orch-state/best-practices.md"} < set(pull_files(pull.body))
    made = world.bare.git("diff", "--name-status", f"main...{SETUP_BRANCH}").split("\n")
    assert made == [f"A\t{path}" for path in sorted(pull_files(pull.body))]
    assert [f"#{pull.number}" in answer.body for answer in world.answers()] == [True, True]


def test_nothing_is_opened_when_nothing_is_missing(new: New) -> None:
    world = new()
    world.push(ALL, "ada")
    world.pending.clear()
    register(world)
    assert not world.pulls()
    assert world.answers()[-1].body.endswith(render_reply(RegisterReply("octo/calc", "main")))


@pytest.mark.parametrize(("by", "answers"), [("tria", 1), pytest.param("rea", 0, marks=pytest.mark.slow)])
def test_no_set_up_without_write_permission(new: New, by: str, answers: int) -> None:
    world = new()
    register(world, by=by)
    assert not world.pulls()
    assert SETUP_BRANCH not in world.bare.heads()
    assert ["needs the permission `write`" in answer.body for answer in world.answers()] == [True] * answers


@pytest.mark.slow
def test_it_concerns_the_repository_even_when_the_prd_is_finished(planned: GitHubWorld) -> None:
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
