"""Markers in our comments and issues, with which a later run finds them.

They are HTML comments and so invisible. Text of others cannot contain one, because it is rendered without HTML.
"""

from __future__ import annotations

import re

PREFIX = "prd2pr:"
ISSUE_MARK = re.compile(r"<!-- prd2pr:(?:tracking|story):([A-Za-z0-9._-]+)(?:/[^\s>]+)? -->")
STORY_MARK = re.compile(r"<!-- prd2pr:story:([^\s>]+)/([^\s/>]+) -->")
DESCRIPTION_BEGINS = "<!-- prd2pr:description: the bot writes from here; what you write above it stays -->"
DESCRIPTION_ENDS = "<!-- prd2pr:description: to here; what you write below it stays -->"


def make_status_marker(prd: str) -> str:
    return _marker("status", prd)


def make_answer_marker(comment: int, index: int = 0) -> str:
    return _marker("answer", str(comment), str(index))


def make_order_marker(order: str) -> str:
    """Mark the reply to a server command that was not executed."""
    return _marker("order", order)


def plan_marker(prd: str, head: str) -> str:
    """Each plan is published once: its digest is part of the marker."""
    return _marker("plan", prd, head)


def make_waiting_marker(prd: str, what: str) -> str:
    """Mark a new comment that asks a person to act; `what` names the head or step."""
    return _marker("waiting", prd, what)


def make_tracking_marker(prd: str) -> str:
    return _marker("tracking", prd)


def make_story_marker(prd: str, story: str) -> str:
    return _marker("story", f"{prd}/{story}")


def make_head_marker(sha: str) -> str:
    """Mark the last published commit: a later run sees whether the branch lost something."""
    return _marker("head", sha)


def make_checked_marker(sha: str) -> str:
    """Mark the last commit whose check is published."""
    return _marker("checked", sha)


def make_proved_marker(head: str, base: str) -> str:
    """Mark what was proved as a whole: without a request it is proved again only for another head or base."""
    return _marker("proved", head, base)


def make_shown_marker(head: str, digest: str) -> str:
    """Mark that this commit is published completely with this status text; a run without a request adds nothing."""
    return _marker("shown", head, digest)


def has_proved_marker(text: str, head: str, base: str) -> bool:
    return make_proved_marker(head, base) in text


def read_head_marker(text: str) -> str:
    return _read_sha("head", text)


def read_checked_marker(text: str) -> str:
    return _read_sha("checked", text)


def _read_sha(kind: str, text: str) -> str:
    found = re.search(rf"<!-- {PREFIX}{kind}:([0-9a-f]{{40}}) -->", text)
    return found[1] if found else ""


def read_prd_marker(text: str) -> str:
    """Return the PRD of one of our issues; empty if it names none."""
    found = ISSUE_MARK.match(text)
    return found[1] if found else ""


def _marker(kind: str, *names: str) -> str:
    for name in names:
        if not re.fullmatch(r"[A-Za-z0-9._/-]+", name):
            raise ValueError(f"no marker can be made of {name!r}")
    return f"<!-- {PREFIX}{kind}:{':'.join(names)} -->"


def starts_with_marker(text: str) -> bool:
    return text.lstrip().startswith(f"<!-- {PREFIX}")


def add_marker(text: str, marker: str) -> str:
    """Put the marker first, so that it survives when a text is cut."""
    return f"{marker}\n{text}" if marker else text
