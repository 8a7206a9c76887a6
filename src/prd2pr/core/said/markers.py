"""Marks in our own comments and issues, by which a later run finds them again.

They are HTML comments, so nobody sees them. Text of others can never hold one: it is rendered without HTML.
"""

from __future__ import annotations

import re

PREFIX = "prd2pr:"
ISSUE_MARK = re.compile(r"<!-- prd2pr:(?:tracking|story):([A-Za-z0-9._-]+)(?:/[^\s>]+)? -->")
STORY_MARK = re.compile(r"<!-- prd2pr:story:([^\s>]+)/([^\s/>]+) -->")
DESCRIPTION_BEGINS = "<!-- prd2pr:description: the bot writes from here; what you write above it stays -->"
DESCRIPTION_ENDS = "<!-- prd2pr:description: to here; what you write below it stays -->"


def status_marker(prd: str) -> str:
    return _marker("status", prd)


def answer_marker(comment: int, index: int = 0) -> str:
    return _marker("answer", str(comment), str(index))


def order_marker(order: str) -> str:
    """The answer to an order of the App's server that was not carried out."""
    return _marker("order", order)


def plan_marker(prd: str, head: str) -> str:
    """One plan is shown once: the head that it stands for is part of its name."""
    return _marker("plan", prd, head)


def waiting_marker(prd: str, what: str) -> str:
    """A new comment because a person must act; `what` is the head or step that it is about."""
    return _marker("waiting", prd, what)


def tracking_marker(prd: str) -> str:
    return _marker("tracking", prd)


def story_marker(prd: str, story: str) -> str:
    return _marker("story", f"{prd}/{story}")


def head_marker(sha: str) -> str:
    """The commit that was shown last: a later run sees by it whether the branch lost something."""
    return _marker("head", sha)


def checked_marker(sha: str) -> str:
    """The last commit whose check is shown."""
    return _marker("checked", sha)


def proved_marker(head: str, base: str) -> str:
    """What was proved as a whole: only another head or base makes it worth the time to prove it again unasked."""
    return _marker("proved", head, base)


def shown_marker(head: str, digest: str) -> str:
    """All there is to show of this commit was shown, and this is what the status said: an unasked run adds nothing."""
    return _marker("shown", head, digest)


def is_proved_in(text: str, head: str, base: str) -> bool:
    return proved_marker(head, base) in text


def head_in(text: str) -> str:
    return _sha_in("head", text)


def checked_in(text: str) -> str:
    return _sha_in("checked", text)


def _sha_in(kind: str, text: str) -> str:
    found = re.search(rf"<!-- {PREFIX}{kind}:([0-9a-f]{{40}}) -->", text)
    return found[1] if found else ""


def prd_of_marker(text: str) -> str:
    """Whose PRD an issue of ours is about; empty where it does not say."""
    found = ISSUE_MARK.match(text)
    return found[1] if found else ""


def _marker(kind: str, *names: str) -> str:
    for name in names:
        if not re.fullmatch(r"[A-Za-z0-9._/-]+", name):
            raise ValueError(f"no marker can be made of {name!r}")
    return f"<!-- {PREFIX}{kind}:{':'.join(names)} -->"


def is_marked(text: str) -> bool:
    return text.lstrip().startswith(f"<!-- {PREFIX}")


def marked(text: str, marker: str) -> str:
    """The marker first: it survives when a text is cut at its end."""
    return f"{marker}\n{text}" if marker else text
