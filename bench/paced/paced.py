"""`plugin:paced:SECONDS:FILE`: the answers of a transcript, each after a delay like a real model's."""

from __future__ import annotations

import time
from pathlib import Path

from prd2pr.agents.models.replay import ReplayModel
from prd2pr.workers import Opening, Reply, Request


class PacedReplay(ReplayModel):
    def __init__(self, path: Path, seconds: float) -> None:
        super().__init__(path)
        self._seconds = seconds

    def reply(self, request: Request) -> Reply:
        time.sleep(self._seconds)
        return super().reply(request)


def open_paced(opening: Opening) -> PacedReplay:
    seconds, _, path = opening.argument.partition(":")
    return PacedReplay(Path(path), float(seconds))
