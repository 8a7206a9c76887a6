"""Parse a unified patch into files and lines for highlighting. Files under `.orch-state/` are left out."""

from __future__ import annotations

from collections.abc import Iterator

from prd2pr.domain.wording import escape_invisible
from prd2pr.views.models import DiffLine, FileDiff, LineKind

STATE_PREFIX = ".orch-state/"
MAX_LINES = 600  # per file; `git show` shows the rest
MAX_LINE_LENGTH = 400


def parse_patch(patch: str) -> tuple[FileDiff, ...]:
    diffs = (parse_file_diff(lines) for lines in _split_by_file(patch))
    return tuple(diff for diff in diffs if not diff.path.startswith(STATE_PREFIX))


def _split_by_file(patch: str) -> Iterator[list[str]]:
    """Yield the lines of each file.

    Only `\\n` ends a line of a patch; source code may contain other line separators.
    """
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


def parse_file_diff(lines: list[str]) -> FileDiff:
    start = next((i for i, line in enumerate(lines) if line.startswith("@@")), len(lines))
    body = [_parse_line(line) for line in lines[start:] if line]
    header = [DiffLine("note", escape_invisible(line)) for line in lines[:start] if line.startswith(HEADER_NOTES)]
    shown = (*header, *body[:MAX_LINES])
    return FileDiff(
        path=_find_path(lines[:start]),
        added=sum(line.kind == "added" for line in body),
        removed=sum(line.kind == "removed" for line in body),
        lines=shown,
        hidden=max(0, len(body) - MAX_LINES),
    )


HEADER_NOTES = ("new file", "deleted file", "old mode", "new mode", "similarity", "rename", "copy", "Binary files")
LINE_KINDS: dict[str, LineKind] = {"+": "added", "-": "removed", "@": "hunk", "\\": "note"}


def _parse_line(line: str) -> DiffLine:
    text = escape_invisible(line.removesuffix("\r"))
    return DiffLine(
        LINE_KINDS.get(line[:1], "context"), text if len(text) <= MAX_LINE_LENGTH else text[:MAX_LINE_LENGTH] + "…"
    )


def _find_path(header: list[str]) -> str:
    """Return the path after the change, the path before it for a deletion, or the one in the `diff --git` line."""
    for mark in ("+++ ", "--- "):
        for line in header:
            name = line.removeprefix(mark).removesuffix("\t").strip('"')
            if line.startswith(mark) and name != "/dev/null":
                return escape_invisible(name[2:])
    return escape_invisible(header[0].rpartition(" b/")[2].strip('"'))
