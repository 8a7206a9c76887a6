"""`plugin:shelf:DIRECTORY`: work that somebody has put on a shelf, one directory for each story and phase.

    DIRECTORY/<story>/<phase>/answer.json    the answer, where the step asks for one
    DIRECTORY/<story>/<phase>/...            everything else is put into the workspace as it is

It answers no better than what lies there: the gates judge it as they judge everybody.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from prd2pr.workers import ModelMissing, ModelProblem, Opening, Reply, Request, Spend, Text

ANSWER = "answer.json"


def open_shelf(opening: Opening) -> ShelfWorker:
    """What the entry point names. A worker that cannot work says so here, before anything was paid for."""
    shelf = opening.cwd / opening.argument
    if not opening.argument or not shelf.is_dir():
        raise ModelMissing(
            "there is no such shelf", where=str(shelf), remedy=f"Write `plugin:{opening.name}:DIRECTORY`."
        )
    return ShelfWorker(shelf)


class ShelfWorker:
    edits_itself = True  # it writes into the workspace, and calls none of the request's tools

    def __init__(self, shelf: Path) -> None:
        self.name = f"shelf {shelf.name}"
        self._shelf = shelf

    def reply(self, request: Request) -> Reply:
        purpose = request.purpose
        place = self._shelf / purpose.subject / purpose.phase
        if not place.is_dir():
            raise ModelProblem(
                f"nothing lies on the shelf for {purpose.phase} of {purpose.subject}",
                where=str(place),
                remedy="Put the work there, and run it again.",
            )
        if request.workspace is not None:
            shutil.copytree(place, request.workspace, dirs_exist_ok=True, ignore=shutil.ignore_patterns(ANSWER))
        answer = place / ANSWER
        words = answer.read_text(encoding="utf-8") if answer.exists() else "Taken from the shelf."
        return Reply((Text(words),), Spend(calls=1, usd=0.0), model=self.name)
