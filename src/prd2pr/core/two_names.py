"""A command has two names: the program's, at a terminal, and the one that people write in comments.

Remedies and explanations name the program's. Where they are told under a pull request, they pass through here.
"""

from __future__ import annotations

import re

# Others (`prd2pr init`, `prd2pr doctor`) are for somebody's own machine wherever they are read.
IN_COMMENTS = {
    "plan": "/tdd run",
    "run": "/tdd run",
    "next": "/tdd next",
    "status": "/tdd overview",
    "logs": "/tdd logs",
    "verify": "/tdd verify",
    "explain": "/tdd explain",
    "reset": "/tdd reset",
}
CODE = re.compile(rf"`prd2pr ({'|'.join(IN_COMMENTS)})((?: [A-Z]+[0-9]*)?)`")


def in_comments(text: str) -> str:
    """`prd2pr explain RED104` → `/tdd explain RED104`. One with options is for a terminal and stays."""
    return CODE.sub(lambda found: f"`{IN_COMMENTS[found[1]]}{found[2]}`", text)
