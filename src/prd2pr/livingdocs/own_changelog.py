"""Add entries to a changelog that people keep, in its own format. Nothing else in the file changes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*")
_UNRELEASED = re.compile(r"\[?unreleased\b.*", re.IGNORECASE)
_VERSION = re.compile(r"\[?(?:version[ \t]+)?v?\d+\.\d.*", re.IGNORECASE)
_SECTION = re.compile(r"Added|Changed|Deprecated|Removed|Fixed|Security", re.IGNORECASE)
_ITEM = re.compile(r"[ \t]*([-*+])[ \t]+\S")
_LINK = re.compile(r"\[[^\]]+\]:[ \t]*\S+")


class _Heading(NamedTuple):
    line: int
    level: int
    text: str


def is_own_changelog(content: bytes) -> bool:
    """Return whether people maintain this changelog: Markdown with headings and without marks of prd2pr."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return False
    return "prd2pr:begin" not in text and bool(_find_headings(text.splitlines()))


def add_changelog_entries(content: bytes, entries: Sequence[tuple[str, str]]) -> bytes:
    """Add entries, each a section and a text, under the heading for unreleased changes, which is added if needed."""
    text = content.decode()
    line_end = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
    lines = text.split(line_end)
    for section, entry in entries:
        _add_entry(lines, section, entry)
    return line_end.join(lines).encode()


def only_adds_lines(before: bytes, after: bytes) -> bool:
    """Return whether a changelog keeps all lines in their order."""
    lines = iter(after.splitlines())
    return is_own_changelog(after) and all(line in lines for line in before.splitlines())


def _add_entry(lines: list[str], section: str, entry: str) -> None:
    release = _find_unreleased(lines)
    if release is None:
        _add_unreleased(lines)
        release = _find_unreleased(lines)
    assert release is not None
    headings, marks = _find_headings(lines), [item[1] for line in lines if (item := _ITEM.match(line))]
    end = next((each.line for each in headings if each.line > release.line and each.level <= release.level), len(lines))
    inside = [each for each in headings if release.line < each.line < end]
    place = release
    if any(_SECTION.fullmatch(each.text) for each in headings) or not marks:
        found = next((each for each in inside if each.text.lower() == section.lower()), None)
        if found is None:
            at = _find_end(lines, release.line + 1, end)
            _insert(lines, at, f"{'#' * (release.level + 1)} {section}", apart=True)
            found, inside, end = _Heading(at + 1, 0, section), [], at + 2
        place = found
    end = next((each.line for each in inside if each.line > place.line), end)
    at = _find_end(lines, place.line + 1, end)
    in_list = any(_ITEM.match(line) for line in lines[place.line + 1 : at])
    _insert(lines, at, f"{marks[0] if marks else '-'} {entry}", apart=not in_list)


def _find_unreleased(lines: list[str]) -> _Heading | None:
    return next((each for each in _find_headings(lines) if _UNRELEASED.fullmatch(each.text)), None)


def _add_unreleased(lines: list[str]) -> None:
    """Add the heading above that of the newest version, in the same form, or at the end."""
    newest = next((each for each in _find_headings(lines) if _VERSION.fullmatch(each.text)), None)
    if newest is None:
        _insert(lines, _find_end(lines, 0, len(lines)), "## [Unreleased]", apart=True)
    else:
        name = "[Unreleased]" if newest.text.startswith("[") else "Unreleased"
        _insert(lines, newest.line, f"{'#' * newest.level} {name}", apart=False)


def _insert(lines: list[str], at: int, line: str, *, apart: bool) -> None:
    """Insert a line. With `apart`, separate it by blank lines from the line above and from text below."""
    below = [""] if at < len(lines) and lines[at].strip() else []
    lines[at:at] = ["", line, *below] if apart else [line, *below]


def _find_headings(lines: list[str]) -> list[_Heading]:
    """Return the headings outside of code blocks."""
    found, fenced = [], False
    for number, line in enumerate(lines):
        fenced ^= line.startswith(("```", "~~~"))
        heading = None if fenced else _HEADING.fullmatch(line)
        if heading:
            found.append(_Heading(number, len(heading[1]), heading[2]))
    return found


def _find_end(lines: list[str], start: int, end: int) -> int:
    """Return the line after the last text of a block, before blank lines and link definitions."""
    while end > start and (not lines[end - 1].strip() or _LINK.match(lines[end - 1])):
        end -= 1
    return end
