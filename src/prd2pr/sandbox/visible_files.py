"""List the files outside the checkout that a test run must see: its interpreter and the programs that it needs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from prd2pr.sandbox.interpreter import InterpreterPaths
from prd2pr.sandbox.jail.view import SYSTEM_DIRECTORIES

OWN_PROGRAMS = Path(__file__).resolve().parents[1] / "languages"  # launchers, probes and reporters
_PREFIX_PARTS = ("bin", "lib", "lib64", "pyvenv.cfg")  # shown if the prefix contains more than an interpreter
_MAX_LINKS = 16
_SYSTEM = tuple(Path("/", name) for name in SYSTEM_DIRECTORIES)


def list_visible_paths(needs: InterpreterPaths, home: Path) -> list[str]:
    """Return the paths to show, none of them below another, and never a whole repository or home directory."""
    wanted = [OWN_PROGRAMS, *follow_links(needs.executable)]
    for prefix in needs.prefixes:
        wanted += [prefix] if not is_too_broad(prefix, home) else [prefix / part for part in _PREFIX_PARTS]
    wanted += [path for path in needs.paths if path.is_absolute() and not is_too_broad(path, home)]
    return keep_outermost(path for path in wanted if path.exists())


def is_too_broad(path: Path, home: Path) -> bool:
    """Return whether the directory contains more than importable code, such as the root, a home or a checkout."""
    real = path.resolve()
    return len(real.parts) < 3 or home.resolve().is_relative_to(real) or (path / ".git").exists()


def list_tool_paths(search: str, home: Path) -> list[str]:
    """Return the paths that the programs on this PATH need, without the settings and credentials of the user."""
    wanted: list[Path] = []
    for name in search.split(os.pathsep):
        directory = Path(name)
        if directory.is_absolute() and directory.is_dir():
            wanted += _list_installation(directory, home)
            wanted += _list_linked_installations(directory, home)
    return keep_outermost(path for path in wanted if path.exists())


def _list_linked_installations(directory: Path, home: Path) -> Iterator[Path]:
    """Yield the installations that links lead to, as from `/usr/bin` to `/opt/tool/bin`."""
    found: set[Path] = set()
    with os.scandir(directory) as entries:
        links = [Path(entry.path) for entry in entries if entry.is_symlink()]
    for link in links:
        if not is_below(link.resolve(), _SYSTEM) and link.resolve().is_file():
            found |= {place.parent for place in follow_links(link)} - {directory}
    for place in sorted(found):
        yield from _list_installation(place, home)


def _list_installation(directory: Path, home: Path) -> list[Path]:
    """Return the paths that the programs in this directory need: its prefix, or parts of a shared prefix."""
    prefix = directory.parent
    if directory.name == "shims":  # of pyenv, asdf or mise: small programs that look for the real ones
        return [prefix]
    if is_too_broad(prefix, home) or is_below(prefix, (home, home.resolve())):
        return [directory, *(prefix / part for part in (*_PREFIX_PARTS[1:], "libexec", "include", "tools"))]
    return [prefix]


def is_below(path: Path, roots: Iterable[Path]) -> bool:
    return any(path.is_relative_to(root) for root in roots)


def follow_links(executable: Path) -> Iterator[Path]:
    """Yield the executable and every link on the way to its target."""
    for _ in range(_MAX_LINKS):
        yield executable
        if not executable.is_symlink():
            return
        executable = executable.parent / executable.readlink()


def keep_outermost(paths: Iterable[Path]) -> list[str]:
    """Return the paths without those below other paths or below system directories. Links are not resolved."""
    outermost: list[Path] = []
    for path in sorted({Path(*path.parts) for path in paths}, key=lambda path: len(path.parts)):
        plain = Path(_remove_dots(path))
        if not any(plain.is_relative_to(place) for place in (*_SYSTEM, *outermost)):
            outermost.append(plain)
    return [str(path) for path in outermost]


def _remove_dots(path: Path) -> str:
    """Remove `.` and `..` from a path, so that `bin/../lib` becomes `lib`. Links are listed separately."""
    parts: list[str] = []
    for part in path.parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    return str(Path(*parts))
