"""Repositories on disk, read like a server's database: every PRD of every branch, and only changes again."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from fakes.board_sample import NOW, broken, mixed, run_on
from fakes.branch_on_disk import repository, write_branch
from prd2pr.reports.board import BoardReader
from prd2pr.server.disk_reader import DiskReader
from prd2pr.state.git import Git
from prd2pr.state.journal import Journal
from prd2pr.views.models import Column


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = repository(tmp_path_factory.mktemp("made") / "shop")
    write_branch(place, mixed(), runs=(run_on("2026-11-16", 0.1),), circuits=broken())
    return place


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "shop"))


def reading_of(place: Path) -> DiskReader:
    return DiskReader({"acme/shop": place}, clock=lambda: NOW)


def test_a_branch_is_read_completely(place: Path) -> None:
    with reading_of(place) as reading:
        (project,) = reading.projects()
        board = reading.project("acme/shop")
        assert board is not None
        assert (project.stories, project.proven, project.problems) == (7, 2, ())
        assert {each.id: each.column for each in board.cards}["loyalty-6"] is Column.PASSING
        assert [each.name for each in reading.circuits() if each.state == "open"] == ["green", "push"]
        assert [each.id for each in reading.runs()] == ["20261116T090000Z-abcdef"]
        assert reading.costs().total.usd == pytest.approx(0.1)
        assert reading.metrics().stories == 7
        assert reading.workers()[0].circuit == "half-open"


def test_a_story_has_its_own_diffs_only(place: Path) -> None:
    with reading_of(place) as reading:
        story = reading.story("acme/shop", "loyalty-2")
        assert story is not None
        red = next(step for step in story.steps if step.phase == "red")
        assert [(file.path, file.added) for file in red.diff] == [("src/shop/loyalty-2.py", 1)]
        assert len(red.commit) == 40


def test_a_missing_item_is_none(place: Path) -> None:
    with reading_of(place) as reading:
        assert reading.project("acme/nothing") is None
        assert reading.story("acme/nothing", "loyalty-1") is None
        assert reading.story("acme/shop", "loyalty-99") is None
        assert reading.story("acme/shop", "../../x") is None
        assert reading.projects({"acme/other"}) == ()


def test_a_board_is_read_again_only_if_its_head_changed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = []
    real = BoardReader.source
    monkeypatch.setattr(BoardReader, "source", lambda *given: reads.append(given[1]) or real(*given))
    with reading_of(place) as reading:
        reading.projects()
        reading.metrics()
        assert reads == ["prd2pr/loyalty"]
        branch = mixed()
        branch.update("loyalty-4", paused=True)
        write_branch(place, branch)
        board = reading.project("acme/shop")
        assert reads == ["prd2pr/loyalty"] * 2
        assert board is not None
        assert next(each.outcome for each in board.cards if each.id == "loyalty-4") == "paused"


def test_failures_without_a_commit_are_visible_at_once(tmp_path: Path) -> None:
    place = repository(tmp_path / "shop")
    head = write_branch(place, mixed())
    with reading_of(place) as reading:
        assert {each.state for each in reading.circuits()} == {"closed"}
        with Git.open(place) as git:
            journal = Journal(git.private, "loyalty")
            for minute in (1, 2, 3):
                trouble = {"stage": "green", "at": f"2026-11-16T11:5{minute}:00Z", "why": "no network", "worker": ""}
                journal.append("trouble", head=head, event=trouble)
        assert [each.name for each in reading.circuits() if each.state != "closed"] == ["green"]


def test_fetched_and_merged_branches_are_read(place: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(place), str(clone)], check=True)
    with reading_of(clone) as reading:
        (project,) = reading.projects()
        assert [prd.branch for prd in project.prds] == ["prd2pr/loyalty"]
    subprocess.run(["git", "merge", "-q", "--ff-only", "origin/prd2pr/loyalty"], cwd=clone, check=True)
    subprocess.run(["git", "branch", "-q", "-dr", "origin/prd2pr/loyalty"], cwd=clone, check=True)
    with reading_of(clone) as reading:
        (project,) = reading.projects()
        assert [(prd.branch, prd.proven) for prd in project.prds] == [("main", 2)]


@pytest.mark.slow
def test_one_damaged_branch_hides_no_other(place: Path) -> None:
    with Git.open(place) as git:
        other = mixed()
        other.prd = other.prd.model_copy(update={"id": "gifts"})
        head = write_branch(place, other)
        spoilt = git.edit_tree(git.tree(head), {".orch-state/prds/gifts/backlog.json": b"{"})
        git.set_branch("prd2pr/gifts", git.commit(spoilt, [head], "Spoil it"))
    with reading_of(place) as reading:
        (project,) = reading.projects()
        assert [prd.id for prd in project.prds] == ["loyalty"]
        assert len(project.problems) == 1
        assert project.problems[0].startswith("prd2pr/gifts: ")
        assert reading.story("acme/shop", "loyalty-1") is not None
