"""Which files of the machine a test run must see besides the system's own: its interpreter, wherever that lies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from prd2pr.runners.interpreter import Needs
from prd2pr.runners.jail.view import SYSTEM

OWN = Path(__file__).resolve().parent  # launcher and guard
_PARTS = ("bin", "lib", "lib64", "pyvenv.cfg")  # of a prefix that holds more than an interpreter
_MOST_LINKS = 16


def visible_to(needs: Needs, home: Path) -> list[str]:
    """Directories and files, none below another. A repository or a home directory as a whole is never among them."""
    wanted = [OWN, *links_of(needs.executable)]
    for prefix in needs.prefixes:
        wanted += [prefix] if not is_broad(prefix, home) else [prefix / part for part in _PARTS]
    wanted += [path for path in needs.paths if path.is_absolute() and not is_broad(path, home)]
    return outermost(path for path in wanted if path.exists())


def is_broad(path: Path, home: Path) -> bool:
    """Holds more than what can be imported: everything, somebody's home, a checkout with its credentials."""
    real = path.resolve()
    return len(real.parts) < 3 or home.resolve().is_relative_to(real) or (path / ".git").exists()


def links_of(executable: Path) -> Iterator[Path]:
    """The executable and every link on the way to what it really is."""
    for _ in range(_MOST_LINKS):
        yield executable
        if not executable.is_symlink():
            return
        executable = executable.parent / executable.readlink()


def outermost(paths: Iterable[Path]) -> list[str]:
    """By plain path, as programs will name them; what the system's directories hold needs no mention."""
    system = [Path("/", name) for name in SYSTEM]
    kept: list[Path] = []
    for path in sorted({Path(*path.parts) for path in paths}, key=lambda path: len(path.parts)):
        plain = Path(_without_dots(path))
        if not any(plain.is_relative_to(place) for place in (*system, *kept)):
            kept.append(plain)
    return [str(path) for path in kept]


def _without_dots(path: Path) -> str:
    """`bin/../lib` as `lib`: the ways through links have been listed apart."""
    parts: list[str] = []
    for part in path.parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    return str(Path(*parts))
