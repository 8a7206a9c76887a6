"""A tree of directories and files, drawn with lines, and short enough to be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from prd2pr.core.wording import count, visible

MOST_LINES = 150


@dataclass
class _Directory:
    directories: dict[str, _Directory] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        return len(self.files) + sum(each.size for each in self.directories.values())


def outline(paths: Sequence[str], most: int = MOST_LINES) -> tuple[str, ...]:
    """All of it where that fits; else only directories, and of these as many levels as fit, with what they hold."""
    root = _Directory()
    for path in paths:
        place = root
        *parents, name = path.split("/")
        for parent in parents:
            place = place.directories.setdefault(parent, _Directory())
        place.files.append(name)
    lines = _drawn(root, depth=99, files=True, most=most)
    if len(lines) <= most:
        return lines
    for depth in (6, 5, 4, 3, 2):
        lines = _drawn(root, depth=depth, files=False, most=most)
        if len(lines) <= most:
            return lines
    lines = _drawn(root, depth=1, files=False, most=most)
    rest = len(lines) - most
    return (*lines[:most], f"… and {rest} more") if rest > 0 else lines


def _drawn(root: _Directory, *, depth: int, files: bool, most: int) -> tuple[str, ...]:
    """One line more than `most` is enough to know that it is too much, unless only one level is left."""
    lines: list[str] = []
    for line in _lines(root, "", depth=depth, files=files):
        lines.append(line)
        if depth > 1 and len(lines) > most:
            break
    return tuple(lines)


def _lines(directory: _Directory, indent: str, *, depth: int, files: bool) -> Iterator[str]:
    shown = [*sorted(directory.directories), *(sorted(directory.files) if files else ())]
    for at, name in enumerate(shown):
        last = at == len(shown) - 1 and (files or not directory.files)
        branch, bar = ("└── ", "    ") if last else ("├── ", "│   ")
        if name not in directory.directories or (at >= len(directory.directories)):
            yield f"{indent}{branch}{visible(name)}"
            continue
        inner, joined = _joined(directory.directories[name], name)
        deeper = depth > 1 and (inner.directories or files)
        told = "" if files else f"  ({count(inner.size, 'file')})"
        yield f"{indent}{branch}{visible(joined)}/{told}"
        if deeper:
            yield from _lines(inner, indent + bar, depth=depth - 1, files=files)
    if not files and directory.files:
        yield f"{indent}└── {count(len(directory.files), 'file')} here"


def _joined(directory: _Directory, name: str) -> tuple[_Directory, str]:
    """`src/shop/` on one line where `src` holds nothing else."""
    while len(directory.directories) == 1 and not directory.files:
        ((inner, directory),) = directory.directories.items()
        name = f"{name}/{inner}"
    return directory, name
