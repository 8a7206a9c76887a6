"""Markers by which later runs find our comments and issues.

They are HTML comments and therefore invisible. Untrusted text cannot contain one, because its HTML is escaped.
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
    "evidence",  # the comment with the evidence of a finished story
    "head",  # the last published commit, to detect whether the branch lost commits
    "order",  # the reply to an order that was not executed
    "plan",  # a published plan, with its digest, so that each plan is published once
    "proved",  # head and base that were proved; a run without a request proves only others
    "shown",  # head and digest of a completely published status, which a run without a request does not publish again
    "status",
    "story",
    "tracking",
    "waiting",  # a comment that asks a person to act, with the head or step
]


def make_marker(kind: MarkerKind, *names: str) -> str:
    for name in names:
        if not re.fullmatch(r"[A-Za-z0-9._/-]+", name):
            raise ValueError(f"{name!r} cannot be part of a marker")
    return f"<!-- {PREFIX}{kind}:{':'.join(names)} -->"


def make_answer_marker(comment: int, index: int = 0, *, review: bool = False) -> str:
    return make_marker("answer", f"{'review-' if review else ''}{comment}", str(index))


def read_sha_marker(kind: Literal["checked", "head"], text: str) -> str:
    found = re.search(rf"<!-- {PREFIX}{kind}:([0-9a-f]{{40}}) -->", text)
    return found[1] if found else ""


def read_prd_marker(text: str) -> str:
    """Return the PRD of one of our issues, or an empty string if there is no marker."""
    found = ISSUE_MARK.match(text)
    return found[1] if found else ""


def starts_with_marker(text: str) -> bool:
    return text.lstrip().startswith(f"<!-- {PREFIX}")


def add_marker(text: str, marker: str) -> str:
    """Put the marker at the start of the text, so that it is kept if the text is cut."""
    return f"{marker}\n{text}" if marker else text
