"""Convert an issue to a PRD file: its text when it was labeled, which becomes part of the pull request."""

from __future__ import annotations

import json
import re

from prd2pr.errors import InputInvalid
from prd2pr.prd.issue_ids import make_issue_prd_id, make_issue_prd_path
from prd2pr.prd.sanitize_markdown import remove_invisible_characters, sanitize_markdown

_LINE_MENTION = re.compile(r"\blines? \d+(?: and \d+)?")


def build_issue_prd(number: int, title: str, body: str) -> str:
    """Build the PRD with generated front matter, since the id names the branch and the author must not choose it.

    Text that was not visible to the person who added the label is left out.
    """
    return f"{_build_front_matter(number, title)}{sanitize_markdown(body).strip()}\n"


def _build_front_matter(number: int, title: str) -> str:
    plain = " ".join(remove_invisible_characters(title).split()) or make_issue_prd_id(number)
    return f"---\nid: {make_issue_prd_id(number)}\ntitle: {json.dumps(plain)}\n---\n\n# {plain}\n\n"


def map_problem_to_issue(problem: InputInvalid, number: int, body: str) -> InputInvalid:
    """Convert an error about the PRD file to the lines of the issue, since the issue's author has no such file."""
    path, text, body = make_issue_prd_path(number), "the issue's text", sanitize_markdown(body)
    added = _build_front_matter(number, "").count("\n") - body[: len(body) - len(body.lstrip())].count("\n")

    def shift_lines(words: str) -> str:
        return re.sub(r"\d+", lambda found: str(max(1, int(found[0]) - added)), words)

    where = re.sub(rf"{re.escape(path)}:(\d+)", lambda found: shift_lines(f"line {found[1]} of ") + text, problem.where)
    what = _LINE_MENTION.sub(lambda found: shift_lines(found[0]), problem.what)
    what, where, remedy = (each.replace(path, text) for each in (what, where, problem.remedy))
    return type(problem)(what, where=where, remedy=remedy)
