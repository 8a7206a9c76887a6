"""Real repositories, isolated from the git configuration of the user who runs the tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from prd2pr.state.git import Git

Shell = Callable[..., str]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("EMAIL", raising=False)
    return home


@pytest.fixture
def where(tmp_path: Path, own_home: Path) -> Path:
    path = tmp_path / "project"
    path.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", str(path)], check=True)
    return path


@pytest.fixture
def shell(where: Path) -> Shell:
    """Runs git as a user of the repository would."""

    def run(*arguments: str, cwd: Path = where) -> str:
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        done = subprocess.run(["git", *identity, *arguments], cwd=cwd, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    return run


@pytest.fixture
def first(where: Path, shell: Shell) -> str:
    """A repository with one commit; its SHA."""
    (where / "src").mkdir()
    (where / "src" / "shop.py").write_text("def total(): ...\n")
    (where / "README.md").write_text("# Shop\n")
    shell("add", "-A")
    shell("commit", "-q", "-m", "Begin")
    return shell("rev-parse", "HEAD")


@pytest.fixture
def git(where: Path, first: str) -> Iterator[Git]:
    with Git.open(where) as opened:
        yield opened
