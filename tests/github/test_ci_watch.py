"""The repository's own CI fails three times where it should pass: a person decides."""

from __future__ import annotations

import pytest

from fakes.github.state import CheckRun
from github_world import GitHubWorld

pytestmark = pytest.mark.slow


def ci_fails(world: GitHubWorld) -> None:
    """Every commit of the branch so far fails CI, the RED ones too."""
    log = world.bare.git("log", "--format=%H", f"main..{world.branch}").split()
    for sha in log:
        if not any(check.head_sha == sha and check.name == "lint" for check in world.checks()):
            number = world.fake.new_id()
            world.repo.checks[number] = CheckRun(number, "lint", sha, "github-actions", "completed", "failure")


@pytest.mark.slow
def test_three_ci_failures_block_and_advice_unblocks(planned: GitHubWorld) -> None:
    world = planned
    number = world.pull().number
    for _ in range(4):  # design, red, green, integrated with refactoring
        world.comment(number, "/tdd next", by="wendy")
        world.act()
    ci_fails(world)
    world.comment(number, "/tdd next", by="wendy")
    assert world.act().status == 0, "two commits that should pass are not three"
    for _ in range(2):  # red, green
        world.comment(number, "/tdd next", by="wendy")
        world.act()
    ci_fails(world)
    before = len(world.subjects())
    world.comment(number, "/tdd next", by="wendy")
    done = world.act()
    assert (done.status, done.outputs["outcome"]) == (0, "refused"), done.output
    assert "CI failed three times" in world.subjects()[before]
    assert "lint" in world.status_comment(number).body
    world.comment(number, '/suggest_fix "the linter wants a docstring"', by="wendy")
    world.act()
    world.comment(number, "/tdd next", by="wendy")
    done = world.act()
    assert done.status == 0, done.output
    assert world.phases()[-1] == "integrated(calc-2)"
    assert world.fake.violations == []
