"""Commit messages: `red(auth-2): a wrong password is refused`, an explanation, and trailers for programs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

SUBJECT_LENGTH = 72
TRAILER = re.compile(r"^([A-Za-z0-9][A-Za-z0-9-]*):[ \t]+(\S.*)$")
CHERRY_PICKED = re.compile(r"^\(cherry picked from commit [0-9a-f]+\)$")


def one_line(text: str) -> str:
    """Without line ends, control characters or direction marks: one line stays one line, and reads as it is written."""
    return " ".join("".join(char if _shown(char) else " " for char in text).split())


def _shown(char: str) -> bool:
    direction_marks = "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    return char.isprintable() and char not in direction_marks


def format_subject(phase: str, scope: str, title: str) -> str:
    subject = f"{one_line(phase)}({one_line(scope)}): {one_line(title)}"
    return subject if len(subject) <= SUBJECT_LENGTH else subject[: SUBJECT_LENGTH - 1].rstrip() + "…"


def format_message(subject: str, body: str, trailers: Sequence[tuple[str, str]]) -> str:
    """Trailers are the last paragraph and the only lines of their form: text of a model cannot add one."""
    paragraphs = [one_line(subject)[:SUBJECT_LENGTH]]
    lines = [_defused(line) for line in _body_lines(body)]
    if any(lines):
        paragraphs.append("\n".join(lines).strip("\n"))
    if trailers:
        paragraphs.append("\n".join(f"{key}: {one_line(value)}" for key, value in trailers))
    return "\n\n".join(paragraphs) + "\n"


def _body_lines(body: str) -> list[str]:
    return [one_line(line) for line in body.splitlines()]


def _defused(line: str) -> str:
    """A line that reads as a trailer is quoted; so is a `#`, which an editor would drop when somebody rewords."""
    return f"> {line}" if TRAILER.match(line) or line.startswith("#") else line


def split_message(message: str) -> tuple[str, str]:
    subject, _, body = message.strip("\n").partition("\n")
    return subject, body.strip("\n")


def read_trailers(body: str) -> Mapping[str, tuple[str, ...]]:
    """Those of the last paragraph, provided that it holds nothing else."""
    last = re.split(r"\n[ \t]*\n", body.strip())[-1]
    found: dict[str, tuple[str, ...]] = {}
    for line in last.split("\n"):
        match = TRAILER.match(line)
        if match:
            found[match[1]] = (*found.get(match[1], ()), match[2].rstrip())
        elif not CHERRY_PICKED.match(line):
            return {}
    return found
