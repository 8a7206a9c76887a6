"""An issue as a PRD: what was written when the label was given, as a file that becomes part of the pull request."""

from __future__ import annotations

import json
import re

PREFIX = "issue-"
DIRECTORY = "prds"
_ID = re.compile(rf"{PREFIX}([1-9][0-9]{{0,9}})")


def issue_prd_id(number: int) -> str:
    return f"{PREFIX}{number}"


def issue_number(prd_id: str) -> int | None:
    match = _ID.fullmatch(prd_id)
    return int(match[1]) if match else None


def issue_prd_path(number: int) -> str:
    return f"{DIRECTORY}/{issue_prd_id(number)}.md"


def issue_prd_text(number: int, title: str, body: str) -> str:
    """Front matter of ours, whatever the issue begins with: the id decides on the branch, and is not the author's."""
    plain = " ".join(title.split()) or issue_prd_id(number)
    return f"---\nid: {issue_prd_id(number)}\ntitle: {json.dumps(plain)}\n---\n\n# {plain}\n\n{body.strip()}\n"
