"""The projection agrees with the branches, reads only changes, and can be rebuilt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from state_repo import OPEN, StateRepo, refresh_all, run

from prd2pr.server.database import Database, open_database
from prd2pr.server.disk_reader import DiskReader
from prd2pr.server.projection import codec
from prd2pr.server.projection.mirrors import resolve_mirror_path
from prd2pr.server.projection.reader import ProjectionReader
from prd2pr.server.projection.service import ProjectionUpdater, clear_projection
from prd2pr.server.projection.update import ProjectionWriter
from prd2pr.views.models import Column

AT = "2026-11-17T12:00:00Z"


@pytest.fixture
def database(tmp_path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{tmp_path}/s.db")
    yield opened
    opened.close()


@pytest.fixture
def shop(tmp_path) -> StateRepo:
    made = StateRepo(tmp_path / "shop")
    made.put("shop", {"shop-1": "done", "shop-2": "in_progress", "shop-3": "backlog"}, runs=[run("r1", ended=False)])
    return made


def updater_for(database: Database, **repos: StateRepo) -> ProjectionUpdater:
    local = {f"octo/{name}": repo.path for name, repo in repos.items()}
    return ProjectionUpdater(database, local, Path("nowhere"))


def projection(database: Database) -> ProjectionReader:
    return ProjectionReader(database, lambda: AT)


def announced(database: Database) -> list[tuple[str, str]]:
    with database.reading() as connection:
        rows = connection.execute(text("SELECT kind, data FROM events ORDER BY id"))
        return [(row.kind, row.data) for row in rows]


def everything(reading: Any) -> tuple[Any, ...]:
    """All that a reader can be asked for."""
    projects = reading.projects()
    boards = tuple(reading.project(each.repo) for each in projects)
    stories = tuple(reading.story(board.project.repo, card.id) for board in boards for card in board.cards)
    figures = (reading.circuits(), reading.workers(), reading.runs(), reading.costs(), reading.metrics())
    return projects, boards, stories, figures


@pytest.mark.slow
def test_it_agrees_with_the_repository(database, shop):
    shop.put("other", {"other-1": "blocked"}, circuits=[OPEN])
    refresh_all(updater_for(database, shop=shop))
    with DiskReader({"octo/shop": shop.path}, lambda: AT) as disk:
        assert everything(projection(database)) == everything(disk)


@pytest.mark.slow
def test_only_changes_are_read_and_announced(database, shop, monkeypatch):
    shop.put("other", {"other-1": "in_progress"})
    look = updater_for(database, shop=shop)
    refresh_all(look)
    assert announced(database) == []  # what was there before is no news
    read: list[str] = []
    original = ProjectionWriter._read
    monkeypatch.setattr(ProjectionWriter, "_read", lambda self, shelf, place, **more: (
        read.append(place.prd), original(self, shelf, place, **more)
    ))  # fmt: skip
    refresh_all(look)
    assert read == []
    shop.put("shop", {"shop-1": "done", "shop-2": "blocked", "shop-3": "backlog"}, circuits=[OPEN], runs=[run("r1")])
    refresh_all(look)
    assert read == ["shop"]
    kinds = [kind for kind, _ in announced(database)]
    assert kinds == ["task_status_changed", "circuit_state_changed", "run_completed"]
    told = announced(database)[0][1]
    assert '"octo/shop:shop-2"' in told and '"before": "IN PROGRESS"' in told and '"after": "BLOCKED"' in told


def test_it_is_rebuilt_identically(database, shop):
    look = updater_for(database, shop=shop)
    refresh_all(look)
    before = everything(projection(database))
    clear_projection(database)
    assert projection(database).projects() == ()
    refresh_all(look)
    assert everything(projection(database)) == before
    assert announced(database) == []


@pytest.mark.slow
def test_a_deleted_branch_disappears(database, shop):
    shop.put("other", {"other-1": "backlog"})
    look = updater_for(database, shop=shop)
    refresh_all(look)
    shop.delete("other")
    refresh_all(look)
    assert [prd.id for prd in projection(database).projects()[0].prds] == ["shop"]
    assert projection(database).story("octo/shop", "other-1") is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ({".orch-state/prds/bad/backlog.json": b"{nonsense"}, "cannot be read"),
        ({".orch-state/prds/bad/status.json": b'{"schema_version": 99}'}, "newer prd2pr"),
        ({".orch-state/prds/bad/tdd/cycles/bad-1.json": b"\xff\xfe"}, "cannot be read"),
    ],
)
def test_broken_or_newer_state_is_shown_as_such_and_breaks_nothing_else(database, shop, damage, words):
    shop.put("bad", {"bad-1": "in_progress"}, files=damage)
    look = updater_for(database, shop=shop)
    refresh_all(look)
    (project,) = projection(database).projects()
    assert [prd.id for prd in project.prds] == ["shop"]
    assert len(project.problems) == 1 and "prd2pr/bad" in project.problems[0] and words in project.problems[0]
    shop.put("bad", {"bad-1": "in_progress"})
    refresh_all(look)
    (project,) = projection(database).projects()
    assert project.problems == () and [prd.id for prd in project.prds] == ["bad", "shop"]


def test_a_repository_that_cannot_be_opened_is_reported_beside_the_others(database, shop, tmp_path):
    look = ProjectionUpdater(database, {"octo/shop": shop.path, "octo/gone": tmp_path / "gone"}, Path("nowhere"))
    refresh_all(look)
    gone, there = projection(database).projects()
    assert gone.repo == "octo/gone" and "not a directory" in gone.problems[0]
    assert there.stories == 3 and there.problems == ()


def test_rows_of_another_version_are_rebuilt(database, shop, monkeypatch):
    look = updater_for(database, shop=shop)
    refresh_all(look)
    codec.compute_schema_digest.cache_clear()
    monkeypatch.setattr(codec, "get_type_adapter", lambda kind, known=codec.get_type_adapter: known(int))
    other = codec.compute_schema_digest()
    monkeypatch.undo()
    codec.compute_schema_digest.cache_clear()
    assert other != codec.compute_schema_digest()
    with database.writing() as connection:
        connection.execute(
            text("UPDATE projected_branches SET form = :form, board = :junk"), {"form": other, "junk": b"x"}
        )
    assert projection(database).projects()[0].prds == ()
    refresh_all(look)
    assert projection(database).projects()[0].stories == 3


def test_hostile_titles_stay_text_in_the_projection(database, tmp_path):
    repo = StateRepo(tmp_path / "r")
    title = "<script>alert(1)</script>\u202e\x00 ' OR 1=1; --"
    repo.put("p", {"p-1": "backlog"}, titles={"p-1": title})
    refresh_all(updater_for(database, r=repo))
    board = projection(database).project("octo/r")
    assert board is not None and "\x00" not in board.cards[0].title and "<script>" in board.cards[0].title
    assert board.cards[0].column is Column.PENDING


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/..", "../b", "a/b/c", "a", "a/b\n", "/a"])
def test_no_name_leads_out_of_the_mirrors(tmp_path, name):
    from prd2pr.errors import InputInvalid

    with pytest.raises(InputInvalid):
        resolve_mirror_path(tmp_path, name)
