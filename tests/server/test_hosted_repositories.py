"""Repositories of the App's installations, read through mirrors of a fake GitHub over real HTTP and git."""

from __future__ import annotations

from pathlib import Path

import pytest
from app_world import AppWorld, wait_until
from state_repo import StateRepo, refresh_all

from fakes.github.server import serve
from prd2pr.server.database import open_database
from prd2pr.server.projection.reader import ProjectionReader
from prd2pr.server.projection.repositories import HostedRepositories
from prd2pr.server.projection.service import ProjectionUpdater
from prd2pr.server.settings import ServerSettings
from prd2pr.state.git import Git


def push_branches(world: AppWorld, name: str, repo: StateRepo) -> None:
    """Push both branches directly into the bare repository that the fake serves."""
    bare = world.fake.bare(world.fake.repo(name))
    for branch in ("main", "prd2pr/shop"):
        bare.git("fetch", "-q", str(repo.path), f"+refs/heads/{branch}:refs/heads/{branch}")


@pytest.mark.slow
def test_installed_repositories_are_mirrored_and_followed(tmp_path):
    world = AppWorld(tmp_path, ("octo/calc", "octo/empty"))
    repo = StateRepo(tmp_path / "r")
    repo.put("shop", {"shop-1": "in_progress"})
    push_branches(world, "octo/calc", repo)
    with serve(world.fake) as url:
        given = {**world.settings(url), "app_id": str(world.app.id), "github_url": url}
        settings = ServerSettings.model_validate(given)
        database = open_database(f"sqlite:///{tmp_path}/s.db")
        look = ProjectionUpdater(database, {}, tmp_path / "mirrors", hosted=HostedRepositories(settings))
        reading = ProjectionReader(database)
        refresh_all(look)
        found = {each.repo: each for each in reading.projects()}
        assert set(found) == {"octo/calc", "octo/empty"}
        assert found["octo/calc"].problems == () and found["octo/calc"].stories == 1
        assert found["octo/empty"].prds == ()
        repo.put("shop", {"shop-1": "blocked", "shop-2": "backlog"})
        push_branches(world, "octo/calc", repo)
        refresh_all(look)
        board = reading.project("octo/calc")
        assert board is not None
        assert [(card.id, card.column.value) for card in board.cards] == [("shop-1", "BLOCKED"), ("shop-2", "PENDING")]
        mirror = Path(tmp_path / "mirrors" / "octo" / "calc.git")
        with Git.open(mirror) as git:
            assert set(git.branches("")) == {"main", "prd2pr/shop"}
        assert "x-access-token" not in (mirror / "config").read_text()
    refresh_all(look)  # the code host is down: what was read stays
    assert {each.repo for each in reading.projects()} == {"octo/calc", "octo/empty"}
    database.close()


@pytest.mark.slow
def test_the_branch_prefix_of_a_repository_is_followed(tmp_path):
    world, repo = AppWorld(tmp_path, ("octo/calc",)), StateRepo(tmp_path / "r")
    repo.put("shop", {"shop-1": "in_progress"})
    with Git.open(repo.path) as git:
        tree = git.edit_tree(git.tree(repo.base), {".prd2pr.yml": b"branch_prefix: bot/\n"})
        git.update_branch("main", git.commit(tree, [repo.base], "Settings", at="2026-11-01T00:00:00Z"), repo.base)
    push_branches(world, "octo/calc", repo)
    world.fake.bare(world.fake.repo("octo/calc")).git("branch", "-m", "prd2pr/shop", "bot/shop")
    with serve(world.fake) as url:
        given = {**world.settings(url), "app_id": str(world.app.id), "github_url": url}
        database = open_database(f"sqlite:///{tmp_path}/s.db")
        hosted = HostedRepositories(ServerSettings.model_validate(given))
        refresh_all(ProjectionUpdater(database, {}, tmp_path / "mirrors", hosted=hosted))
        (found,) = ProjectionReader(database).projects()
        database.close()
    assert (found.problems, found.stories) == ((), 1)


def test_without_an_app_nothing_is_requested():
    assert HostedRepositories(ServerSettings())() == ()


def test_the_list_is_requested_on_schedule_only(tmp_path):
    """`refresh_seconds` is the interval of the full list; an event reads its own repository, and lists nothing."""
    listed: list[int] = []
    database = open_database(f"sqlite:///{tmp_path}/s.db")
    look = ProjectionUpdater(
        database, {}, tmp_path / "mirrors", hosted=lambda: listed.append(1) or (), hosted_every=3600
    )
    with look:
        for number in range(5):
            look.request_refresh(f"octo/unknown-{number}")
            wait_until(look._requested.empty)
    assert listed == [1]
    database.close()
