"""A document's generated part between its marks; whatever people wrote around it is kept byte for byte."""

from __future__ import annotations

import re
from typing import NamedTuple

from prd2pr.core.living.documents import LivingDocument

NOTICE = "<!-- Written anew by prd2pr with each finished story. Write above or below these marks: that is kept. -->"
_MARK = re.compile(rb"^[ \t]*<!-- prd2pr:(begin|end) ([A-Z_]+) -->[ \t]*\r?$", re.MULTILINE)
# A line that was meant to be a mark; if it is none, somebody has broken it.
_LIKE_A_MARK = re.compile(rb"^[ \t]*<!--+[ \t]*prd2pr[ \t]*:[ \t]*(?:begin|end)\b", re.MULTILINE | re.IGNORECASE)
_FORGED = re.compile(r"<!--(?=-*[ \t]*prd2pr[ \t]*:)", re.IGNORECASE)
_POINTER = b"version https://git-lfs.github.com/spec/"


class Woven(NamedTuple):
    """`content` is None where the file is left as it is because of the problem."""

    content: bytes | None
    problem: str = ""


def marks(document: LivingDocument) -> tuple[str, str]:
    return f"<!-- prd2pr:begin {document.name} -->", f"<!-- prd2pr:end {document.name} -->"


def weave(document: LivingDocument, existing: bytes | None, generated: str) -> Woven:
    """The file as it should be."""
    begin, end = marks(document)
    # Templates make all text of others inert; should one forget it, a forged mark still cannot move ours.
    body = f"{NOTICE}\n\n{_FORGED.sub('&lt;!--', generated).strip()}\n\n"
    if not existing:
        return Woven(f"# {document.title}\n\n{document.about}\n\n{begin}\n{body}{end}\n".encode())
    problem = problem_of(document, existing)
    if problem:
        return Woven(None, problem)
    found = [*_MARK.finditer(existing)]
    if found:
        opened, closed = found
        start = existing.index(b"\n", opened.end()) + 1
        line_end = "\r\n" if existing[:start].endswith(b"\r\n") else "\n"
        return Woven(existing[:start] + _encoded(body, line_end) + existing[closed.start() :])
    line_end = "\r\n" if existing.count(b"\r\n") * 2 > existing.count(b"\n") else "\n"
    gap = "\n" if existing.endswith(b"\n") else "\n\n"
    return Woven(existing + _encoded(f"{gap}{begin}\n{body}{end}\n", line_end))


def problem_of(document: LivingDocument, existing: bytes) -> str:
    """Why nothing can be put into this file without harm; empty where it can."""
    begin, end = marks(document)
    try:
        existing.decode("utf-8")
    except UnicodeDecodeError:
        return "it is not UTF-8 text"
    if existing.startswith(_POINTER):
        return "it is a pointer of git LFS, not the document itself"
    found = [(mark[1].decode(), mark[2].decode()) for mark in _MARK.finditer(existing)]
    if len(found) != len(_LIKE_A_MARK.findall(existing)):
        return f"a mark in it is damaged; write `{begin}` and `{end}`, each on a line of its own"
    if found and found != [("begin", document.name), ("end", document.name)]:
        return f"its marks do not come as one pair; keep one `{begin}` and, below it, one `{end}`"
    return ""


def written_by_people(document: LivingDocument, existing: bytes | None) -> str:
    """The text outside of the marks; all of it where there are none."""
    if not existing:
        return ""
    found = [*_MARK.finditer(existing)] if not problem_of(document, existing) else []
    kept = existing[: found[0].start()] + existing[found[1].end() :] if found else existing
    return kept.decode("utf-8", "replace")


def keeps_words(document: LivingDocument, before: bytes | None, after: bytes) -> bool:
    """Whether only the generated part was written, whatever it says."""
    if problem_of(document, after) or not _MARK.search(after):
        return False
    if not before:
        return True
    if _MARK.search(before):
        return not problem_of(document, before) and written_by_people(document, before) == written_by_people(
            document, after
        )
    return after.startswith(before)


def _encoded(text: str, line_end: str) -> bytes:
    return text.replace("\n", line_end).encode()
