"""`replay:FILE`: answers from a transcript. The words are recorded; whatever the gates make of them is proved anew."""

from __future__ import annotations

import dataclasses
import difflib
from pathlib import Path

from prd2pr.core.budget import CallEstimate
from prd2pr.core.records import REPLAY_OF
from prd2pr.errors import TranscriptEnded
from prd2pr.models.transcript import Transcript, load
from prd2pr.ports import Reply, Request


class ReplayModel:
    """Looks answers up by the request's purpose: after a restart the same question finds the same answer."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._transcript: Transcript = load(path)
        self.name = f"{REPLAY_OF}{self._transcript.title}"

    def reply(self, request: Request) -> Reply:
        key = request.purpose.key()
        recorded = self._transcript.replies.get(key)
        if recorded is None:
            raise self._missing(key)
        # Tokens tell what the recording took; no money is spent by reading a file.
        return dataclasses.replace(recorded, spend=recorded.spend.model_copy(update={"usd": 0.0}))

    def estimate(self, request: Request | None) -> CallEstimate:  # noqa: ARG002 - a file's answer costs the same always
        return CallEstimate(self.name)

    def _missing(self, key: str) -> TranscriptEnded:
        keys = list(self._transcript.replies)
        close = difflib.get_close_matches(key, keys, n=3, cutoff=0.5)
        nearest = f" The nearest are {', '.join(close)}." if close else ""
        return TranscriptEnded(
            f"The transcript has no answer for {key} among its {len(keys)}.{nearest}",
            where=str(self._path),
            remedy="Record the missing answer with a live model and `--record`, or run with a live model.",
        )
