"""The id and path of an issue's PRD. Uses only the standard library, since the gate job imports it."""

from __future__ import annotations

import re

PREFIX = "issue-"
DIRECTORY = "prds"
_ID = re.compile(rf"{PREFIX}([1-9][0-9]{{0,9}})")


def make_issue_prd_id(number: int) -> str:
    return f"{PREFIX}{number}"


def parse_issue_number(prd_id: str) -> int | None:
    match = _ID.fullmatch(prd_id)
    return int(match[1]) if match else None


def make_issue_prd_path(number: int) -> str:
    return f"{DIRECTORY}/{make_issue_prd_id(number)}.md"
