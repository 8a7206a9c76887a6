"""Draw a tree of directories and files that is short enough to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from prd2pr.domain.wording import count, escape_invisible

MAX_LINES = 150


@dataclass
class _Directory:
    directories: dict[str, _Directory] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        return len(self.files) + sum(each.size for each in self.directories.values())


def draw_file_tree(paths: Sequence[str], most: int = MAX_LINES) -> tuple[str, ...]:
    """Draw the whole tree if it fits, or else as many levels of directories as fit, with file counts."""
    root = _Directory()
    for path in paths:
        place = root
        *parents, name = path.split("/")
        for parent in parents:
            place = place.directories.setdefault(parent, _Directory())
        place.files.append(name)
    lines = _draw(root, depth=99, files=True, most=most)
    if len(lines) <= most:
        return lines
    for depth in (6, 5, 4, 3, 2):
        lines = _draw(root, depth=depth, files=False, most=most)
        if len(lines) <= most:
            return lines
    lines = _draw(root, depth=1, files=False, most=most)
    rest = len(lines) - most
    return (*lines[:most], f"… and {rest} more") if rest > 0 else lines


def _draw(root: _Directory, *, depth: int, files: bool, most: int) -> tuple[str, ...]:
    """Draw at most `most` + 1 lines, which is enough to detect that the tree does not fit.

    A single level is drawn completely.
    """
    lines: list[str] = []
    for line in _draw_directory(root, "", depth=depth, files=files):
        lines.append(line)
        if depth > 1 and len(lines) > most:
            break
    return tuple(lines)


def _draw_directory(directory: _Directory, indent: str, *, depth: int, files: bool) -> Iterator[str]:
    shown = [*sorted(directory.directories), *(sorted(directory.files) if files else ())]
    for at, name in enumerate(shown):
        last = at == len(shown) - 1 and (files or not directory.files)
        branch, bar = ("└── ", "    ") if last else ("├── ", "│   ")
        if name not in directory.directories or (at >= len(directory.directories)):
            yield f"{indent}{branch}{escape_invisible(name)}"
            continue
        inner, joined = _join_single_directories(directory.directories[name], name)
        deeper = depth > 1 and (inner.directories or files)
        size_note = "" if files else f"  ({count(inner.size, 'file')})"
        yield f"{indent}{branch}{escape_invisible(joined)}/{size_note}"
        if deeper:
            yield from _draw_directory(inner, indent + bar, depth=depth - 1, files=files)
    if not files and directory.files:
        yield f"{indent}└── {count(len(directory.files), 'file')} here"


def _join_single_directories(directory: _Directory, name: str) -> tuple[_Directory, str]:
    """Join directories with a single child into one line, such as `src/shop/` if `src` contains nothing else."""
    while len(directory.directories) == 1 and not directory.files:
        ((inner, directory),) = directory.directories.items()
        name = f"{name}/{inner}"
    return directory, name
