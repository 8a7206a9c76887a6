"""An issue as a PRD: what was written when the label was given, as a file that becomes part of the pull request."""

from __future__ import annotations

import json
import re

from prd2pr.core.as_seen import as_seen, with_shape
from prd2pr.core.issue_ids import issue_prd_id, issue_prd_path
from prd2pr.errors import InputInvalid

_LINES = re.compile(r"\blines? \d+(?: and \d+)?")


def issue_prd_text(number: int, title: str, body: str) -> str:
    """Front matter of ours, whatever the issue begins with: the id decides on the branch, and is not the author's.

    What whoever gave the label could not see is left out: nobody has read it.
    """
    return f"{_head(number, title)}{as_seen(body).strip()}\n"


def _head(number: int, title: str) -> str:
    plain = " ".join(with_shape(title).split()) or issue_prd_id(number)
    return f"---\nid: {issue_prd_id(number)}\ntitle: {json.dumps(plain)}\n---\n\n# {plain}\n\n"


def told_of_issue(problem: InputInvalid, number: int, body: str) -> InputInvalid:
    """A problem of the file in the words of the issue: nobody has that file, and its lines are not the issue's."""
    path, text, body = issue_prd_path(number), "the issue's text", as_seen(body)
    ours = _head(number, "").count("\n") - body[: len(body) - len(body.lstrip())].count("\n")

    def counted(words: str) -> str:
        return re.sub(r"\d+", lambda found: str(max(1, int(found[0]) - ours)), words)

    where = re.sub(rf"{re.escape(path)}:(\d+)", lambda found: counted(f"line {found[1]} of ") + text, problem.where)
    what = _LINES.sub(lambda found: counted(found[0]), problem.what)
    said = (each.replace(path, text) for each in (what, where, problem.remedy))
    what, where, remedy = said
    return type(problem)(what, where=where, remedy=remedy)
