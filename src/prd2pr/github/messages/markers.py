"""Markers in our comments and issues, with which a later run finds them.

They are HTML comments and so invisible. Text of others cannot contain one, because it is rendered without HTML.
"""

from __future__ import annotations

import re
from typing import Literal

PREFIX = "prd2pr:"
ISSUE_MARK = re.compile(r"<!-- prd2pr:(?:tracking|story):([A-Za-z0-9._-]+)(?:/[^\s>]+)? -->")
STORY_MARK = re.compile(r"<!-- prd2pr:story:([^\s>]+)/([^\s/>]+) -->")
DESCRIPTION_BEGINS = "<!-- prd2pr:description: the bot writes from here; what you write above it stays -->"
DESCRIPTION_ENDS = "<!-- prd2pr:description: to here; what you write below it stays -->"


MarkerKind = Literal[
    "answer",
    "checked",  # the last commit whose check is published
    "head",  # the last published commit: a later run sees whether the branch lost something
    "order",  # the reply to a server command that was not executed
    "plan",  # each plan is published once: its digest is part of the marker
    "proved",  # head and base: without a request it is proved again only for another head or base
    "shown",  # head and digest of the status text, published completely: a run without a request adds nothing
    "status",
    "story",
    "tracking",
    "waiting",  # a new comment that asks a person to act, with the head or step
]


def make_marker(kind: MarkerKind, *names: str) -> str:
    for name in names:
        if not re.fullmatch(r"[A-Za-z0-9._/-]+", name):
            raise ValueError(f"no marker can be made of {name!r}")
    return f"<!-- {PREFIX}{kind}:{':'.join(names)} -->"


def make_answer_marker(comment: int, index: int = 0) -> str:
    return make_marker("answer", str(comment), str(index))


def read_sha_marker(kind: Literal["checked", "head"], text: str) -> str:
    found = re.search(rf"<!-- {PREFIX}{kind}:([0-9a-f]{{40}}) -->", text)
    return found[1] if found else ""


def read_prd_marker(text: str) -> str:
    """Return the PRD of one of our issues; empty if it names none."""
    found = ISSUE_MARK.match(text)
    return found[1] if found else ""


def starts_with_marker(text: str) -> bool:
    return text.lstrip().startswith(f"<!-- {PREFIX}")


def add_marker(text: str, marker: str) -> str:
    """Put the marker first, so that it survives when a text is cut."""
    return f"{marker}\n{text}" if marker else text
