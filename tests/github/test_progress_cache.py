"""A run with nothing new makes few requests: the status comment records what was published, and for which head."""

from __future__ import annotations

import re

import pytest

from github_world import GitHubWorld

LOOKED_UP = re.compile(r"/check-runs$|/sub_issues$")


@pytest.fixture
def shown(planned: GitHubWorld) -> GitHubWorld:
    """The copied world has another URL than the one it was published under: this updates the links."""
    planned.tick()
    planned.act()
    return planned


def calls_of_a_tick(world: GitHubWorld) -> list[str]:
    """The API calls of a scheduled run; a 304 costs nothing and is not counted."""
    before = len(world.fake.calls)
    world.tick()
    acted = world.act()
    assert acted.status == 0, acted.output
    made = [call for call in world.fake.calls[before:] if "/octo/calc.git/" not in call.path and call.status != 304]
    assert not any(call.writes for call in made), "it writes nothing"
    return [call.path for call in made]


def looked_up(paths: list[str]) -> list[str]:
    return [path for path in paths if LOOKED_UP.search(path)]


def test_a_second_run_with_nothing_new_requests_no_checks_or_issues(shown: GitHubWorld) -> None:
    first, second = calls_of_a_tick(shown), calls_of_a_tick(shown)
    assert looked_up(first) == looked_up(second) == []
    assert sorted(second) == [
        "/graphql",
        "/graphql",
        "/repos/octo/calc",
        "/repos/octo/calc/actions/workflows/prd2pr.yml/runs",
        "/repos/octo/calc/issues",
        "/repos/octo/calc/issues",
        "/repos/octo/calc/issues/1/comments",
        "/repos/octo/calc/issues/2/comments",
        "/repos/octo/calc/pulls",
    ], "who it is, who else is at work, which PRDs, which pull request, what was said: nothing else tells"


@pytest.mark.slow
def test_without_its_marker_everything_is_looked_up_and_marked_again(shown: GitHubWorld) -> None:
    row = shown.status_comment()
    row.body = re.sub(r"<!-- prd2pr:shown:.*? -->\n?", "", row.body)
    before = len(shown.fake.calls)
    shown.tick()
    shown.act()
    made = [call.path for call in shown.fake.calls[before:]]
    assert len(looked_up(made)) == 2
    assert "prd2pr:shown:" in shown.status_comment().body
    assert looked_up(calls_of_a_tick(shown)) == []


@pytest.mark.slow
def test_another_head_is_looked_up(shown: GitHubWorld) -> None:
    shown.push({"README.md": "by hand\n"}, "ada", branch=shown.branch)
    shown.pending.clear()
    before = len(shown.fake.calls)
    shown.tick()
    shown.act()
    assert looked_up([call.path for call in shown.fake.calls[before:]]) != []


@pytest.mark.slow
def test_a_command_has_everything_looked_up(shown: GitHubWorld) -> None:
    """Manual changes are corrected by the next run that executes a command."""
    (tracking,) = [row for row in shown.repo.issues.values() if row.sub_issues]
    tracking.body += "by hand"
    calls_of_a_tick(shown)
    assert tracking.body.endswith("by hand")
    shown.dispatch(prd="calc")
    shown.act()
    assert "by hand" not in tracking.body
