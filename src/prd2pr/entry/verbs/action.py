"""`prd2pr action`: the Action's entry.

What is irrelevant never comes here (see `entry/door.py`). The rest is not handled yet, and a job that did nothing must
not be green: so it fails, and says what to use meanwhile.
"""

from __future__ import annotations

import argparse
import os

from prd2pr.errors import SetupProblem


def main(options: argparse.Namespace) -> int:  # noqa: ARG001 - every verb has the same form
    event = os.environ.get("GITHUB_EVENT_NAME", "")
    if not event:
        raise SetupProblem(
            "prd2pr action runs inside GitHub Actions",
            where="GITHUB_EVENT_NAME is not set",
            remedy="on your own machine: prd2pr run PRD",
        )
    raise SetupProblem(
        f"this version of prd2pr does not handle {event} events yet",
        remedy="run it on a machine of yours: prd2pr run PRD, then push the branch prd2pr/<prd>",
    )
