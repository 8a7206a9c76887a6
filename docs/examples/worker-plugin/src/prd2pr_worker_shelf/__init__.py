"""`plugin:shelf:DIRECTORY`: work prepared in advance, in one directory for each story and phase.

    DIRECTORY/<story>/<phase>/answer.json    the answer, if the step needs one
    DIRECTORY/<story>/<phase>/...            all other files, which are copied into the workspace

The gates judge this work like any other.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from prd2pr.workers import ModelMissing, ModelProblem, Opening, Reply, Request, Spend, Text

ANSWER = "answer.json"


def open_shelf(opening: Opening) -> ShelfWorker:
    """Open the worker; the entry point names this function. Errors are reported here, before anything is paid for."""
    shelf = opening.cwd / opening.argument
    if not opening.argument or not shelf.is_dir():
        raise ModelMissing(
            "the directory does not exist", where=str(shelf), remedy=f"Write `plugin:{opening.name}:DIRECTORY`."
        )
    return ShelfWorker(shelf)


class ShelfWorker:
    edits_itself = True  # it writes into the workspace instead of calling the request's tools

    def __init__(self, shelf: Path) -> None:
        self.name = f"shelf {shelf.name}"
        self._shelf = shelf

    def reply(self, request: Request) -> Reply:
        purpose = request.purpose
        place = self._shelf / purpose.subject / purpose.phase
        if not place.is_dir():
            raise ModelProblem(
                f"there is no prepared work for {purpose.phase} of {purpose.subject}",
                where=str(place),
                remedy="Put the work there and run it again.",
            )
        if request.workspace is not None:
            shutil.copytree(place, request.workspace, dirs_exist_ok=True, ignore=shutil.ignore_patterns(ANSWER))
        answer = place / ANSWER
        words = answer.read_text(encoding="utf-8") if answer.exists() else "Prepared work."
        return Reply((Text(words),), Spend(calls=1, usd=0.0), model=self.name)
