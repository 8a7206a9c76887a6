"""Which files of the machine are visible in the sandbox."""

from __future__ import annotations

from pathlib import Path

from prd2pr.sandbox.interpreter import InterpreterPaths
from prd2pr.sandbox.visible_files import OWN_PROGRAMS, is_too_broad, keep_outermost, list_visible_paths


def interpreter(home: Path) -> InterpreterPaths:
    """A virtual environment in a repository, whose Python is in the home directory behind two links."""
    base = home / "pythons" / "3.11"
    for directory in (base / "bin", base / "lib", home / "project" / ".git", home / "project" / ".venv" / "bin"):
        directory.mkdir(parents=True)
    (base / "bin" / "python3.11").write_text("")
    (home / "bin").mkdir()
    (home / "bin" / "python3").symlink_to(base / "bin" / "python3.11")
    python = home / "project" / ".venv" / "bin" / "python"
    python.symlink_to(home / "bin" / "python3")
    return InterpreterPaths(python, (python.parents[1], base), (base / "lib", home / "project"))


def test_interpreter_is_visible_and_its_repository_is_not(tmp_path: Path) -> None:
    seen = list_visible_paths(interpreter(tmp_path), tmp_path)
    assert sorted(seen) == sorted(
        str(path)
        for path in (
            OWN_PROGRAMS, tmp_path / "bin" / "python3", tmp_path / "project" / ".venv", tmp_path / "pythons" / "3.11",
        )
    )  # fmt: skip


def test_environment_that_is_a_repository_is_only_partly_visible(tmp_path: Path) -> None:
    needs = interpreter(tmp_path)
    (tmp_path / "project" / "lib").mkdir()
    seen = list_visible_paths(InterpreterPaths(needs.executable, (tmp_path / "project",), ()), tmp_path)
    assert str(tmp_path / "project" / "lib") in seen
    assert not [path for path in seen if path == str(tmp_path / "project") or path.endswith(".git")]


def test_directory_that_contains_a_home_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "people" / "me"
    home.mkdir(parents=True)
    assert is_too_broad(home, home) and is_too_broad(home.parent, home) and is_too_broad(Path("/"), home)
    assert not is_too_broad(home / ".venv", home)


def test_system_directories_are_not_listed() -> None:
    paths = [Path("/usr/lib/python3"), Path("/opt/a/b"), Path("/opt/a"), Path("/opt/a/bin/../lib")]
    assert keep_outermost(paths) == ["/opt/a"]
