"""A run that finds nothing new asks no more than it must: the status comment says what was shown, and of which head."""

from __future__ import annotations

import re

import pytest

from github_world import GitHubWorld

pytestmark = pytest.mark.slow

LOOKED_UP = re.compile(r"/check-runs$|/sub_issues$")


@pytest.fixture
def shown(planned: GitHubWorld) -> GitHubWorld:
    """The copied world has another address than the one that it was shown in: this brings its links up to date."""
    planned.tick()
    planned.act()
    return planned


def asked_by_a_tick(world: GitHubWorld) -> list[str]:
    """What the schedule's run calls the API for; what was not modified since costs nothing, and is not counted."""
    before = len(world.fake.calls)
    world.tick()
    acted = world.act()
    assert acted.status == 0, acted.output
    made = [call for call in world.fake.calls[before:] if "/octo/calc.git/" not in call.path and call.status != 304]
    assert {call.method for call in made} <= {"GET"}, "it writes nothing"
    return [call.path for call in made]


def looked_up(paths: list[str]) -> list[str]:
    return [path for path in paths if LOOKED_UP.search(path)]


def test_a_second_run_with_nothing_new_asks_for_neither_checks_nor_issues(shown: GitHubWorld) -> None:
    first, second = asked_by_a_tick(shown), asked_by_a_tick(shown)
    assert looked_up(first) == looked_up(second) == []
    assert sorted(second) == [
        "/repos/octo/calc",
        "/repos/octo/calc/actions/workflows/prd2pr.yml/runs",
        "/repos/octo/calc/issues",
        "/repos/octo/calc/issues",
        "/repos/octo/calc/issues/1/comments",
        "/repos/octo/calc/issues/2/comments",
        "/repos/octo/calc/pulls",
        "/user",
    ], "who it is, who else is at work, which PRDs, which pull request, what was said: nothing else tells"


def test_without_its_mark_all_is_looked_up_and_the_mark_is_made_again(shown: GitHubWorld) -> None:
    row = shown.status_comment()
    row.body = re.sub(r"<!-- prd2pr:shown:.*? -->\n?", "", row.body)
    before = len(shown.fake.calls)
    shown.tick()
    shown.act()
    made = [call.path for call in shown.fake.calls[before:]]
    assert len(looked_up(made)) == 2
    assert "prd2pr:shown:" in shown.status_comment().body
    assert looked_up(asked_by_a_tick(shown)) == []


def test_another_head_is_looked_up(shown: GitHubWorld) -> None:
    shown.push({"README.md": "by hand\n"}, "ada", branch=shown.branch)
    shown.pending.clear()
    before = len(shown.fake.calls)
    shown.tick()
    shown.act()
    assert looked_up([call.path for call in shown.fake.calls[before:]]) != []


def test_whoever_asks_has_all_of_it_looked_at(shown: GitHubWorld) -> None:
    """What somebody has changed by hand is put right by the next run that is asked for anything."""
    (tracking,) = [row for row in shown.repo.issues.values() if row.sub_issues]
    tracking.body += "by hand"
    asked_by_a_tick(shown)
    assert tracking.body.endswith("by hand")
    shown.dispatch(prd="calc")
    shown.act()
    assert "by hand" not in tracking.body
