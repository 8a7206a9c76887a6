"""The workflow is pinned to the commit of this prd2pr: known exactly, or not at all."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from prd2pr import __version__
from prd2pr.build_info import get_build_commit

COMMIT = "c" * 40


@pytest.fixture
def package(tmp_path) -> Path:
    """As in a source tree: `ROOT/src/prd2pr`."""
    place = tmp_path / "src/prd2pr"
    place.mkdir(parents=True)
    return place


def commit_in(root: Path) -> str:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for arguments in (("init", "-q"), (*identity, "commit", "-q", "--allow-empty", "-m", "x")):
        subprocess.run(["git", "-C", str(root), *arguments], check=True)
    return subprocess.run(
        ["git", "-C", str(root), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_a_wheel_reads_it_from_its_note(package):
    (package / "built_from.txt").write_text(f"{COMMIT}\n")
    assert get_build_commit(package) == COMMIT


@pytest.mark.parametrize("note", ["", "main", "$Format:%H$", COMMIT[:39], f"{COMMIT}0", "é" * 40])
def test_a_note_that_is_not_a_commit_is_ignored(package, note):
    (package / "built_from.txt").write_text(note, encoding="utf-8")
    assert get_build_commit(package) == ""


def test_a_clone_asks_git(package, tmp_path):
    (tmp_path / "action.yml").touch()
    assert get_build_commit(package) == "", "there is no repository yet"
    assert commit_in(tmp_path) == get_build_commit(package)


def test_a_repository_around_the_installation_is_ignored(package, tmp_path):
    """`project/.venv/…` is in the user's own repository, whose commits are not ours."""
    commit_in(tmp_path)
    assert get_build_commit(package) == ""


@pytest.mark.slow
def test_version_names_the_commit(world):
    done = world.program("--version")
    assert done.status == 0
    assert re.fullmatch(rf"prd2pr {re.escape(__version__)} \(([0-9a-f]{{40}}|commit unknown)\)\n", done.out)


@pytest.mark.parametrize("name", ["prd2pr/prd2pr", "prd2pr/prd2pr@v1", f"prd2pr@{COMMIT}", f"a/b@{COMMIT} ; x"])
def test_init_refuses_a_movable_action_ref(world, name):
    done = world.program("init", "--action", name)
    assert done.status == 2
    assert "40 hexadecimal digits" in done.err
    assert not (world.repo / ".github").exists() and not (world.repo / ".orch-state").exists()


def test_init_uses_the_given_action(world):
    assert world.program("init", "--action", f"mirror/prd2pr@{COMMIT}").status == 0
    text = (world.repo / ".github/workflows/prd2pr.yml").read_text()
    assert text.count(f"uses: mirror/prd2pr/.github/workflows/run.yml@{COMMIT}\n") == 1
