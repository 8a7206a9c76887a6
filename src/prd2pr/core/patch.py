"""A unified patch, taken apart into files and lines that can be coloured. The bot's own state is left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from prd2pr.core.wording import visible

STATE = ".orch-state/"
LINES_SHOWN = 600  # of one file: a page is for reading, `git show` has the rest
LINE_SHOWN = 400

LineKind = Literal["added", "removed", "hunk", "context", "note"]


@dataclass(frozen=True)
class DiffLine:
    kind: LineKind
    text: str


@dataclass(frozen=True)
class FileDiff:
    path: str
    added: int
    removed: int
    lines: tuple[DiffLine, ...]
    hidden: int = 0


def file_diffs(patch: str) -> tuple[FileDiff, ...]:
    diffs = (file_diff(lines) for lines in _by_file(patch))
    return tuple(diff for diff in diffs if not diff.path.startswith(STATE))


def _by_file(patch: str) -> Iterator[list[str]]:
    """Lines by file. Only `\\n` ends a line of a patch; source may hold other separators."""
    current: list[str] = []
    for line in patch.split("\n"):
        if line.startswith("diff --git "):
            if current:
                yield current
            current = []
        if current or line.startswith("diff --git "):
            current.append(line)
    if current:
        yield current


def file_diff(lines: list[str]) -> FileDiff:
    start = next((i for i, line in enumerate(lines) if line.startswith("@@")), len(lines))
    body = [_line(line) for line in lines[start:] if line]
    header = [DiffLine("note", visible(line)) for line in lines[:start] if line.startswith(NOTES)]
    shown = (*header, *body[:LINES_SHOWN])
    return FileDiff(
        path=_path(lines[:start]),
        added=sum(line.kind == "added" for line in body),
        removed=sum(line.kind == "removed" for line in body),
        lines=shown,
        hidden=max(0, len(body) - LINES_SHOWN),
    )


NOTES = ("new file", "deleted file", "old mode", "new mode", "similarity", "rename", "copy", "Binary files")
KINDS: dict[str, LineKind] = {"+": "added", "-": "removed", "@": "hunk", "\\": "note"}


def _line(line: str) -> DiffLine:
    text = visible(line.removesuffix("\r"))
    return DiffLine(KINDS.get(line[:1], "context"), text if len(text) <= LINE_SHOWN else text[:LINE_SHOWN] + "…")


def _path(header: list[str]) -> str:
    """The name after the change, else before it (a deletion), else the second half of the `diff --git` line."""
    for mark in ("+++ ", "--- "):
        for line in header:
            name = line.removeprefix(mark).removesuffix("\t").strip('"')
            if line.startswith(mark) and name != "/dev/null":
                return visible(name[2:])
    return visible(header[0].rpartition(" b/")[2].strip('"'))
