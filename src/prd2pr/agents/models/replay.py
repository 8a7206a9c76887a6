"""`replay:FILE`: return answers from a transcript.

Only the model's replies are recorded; tests and gates run for real.
"""

from __future__ import annotations

import dataclasses
import difflib
from pathlib import Path

from prd2pr.agents.models.base import Reply, Request
from prd2pr.agents.models.transcript import Transcript, load_transcript
from prd2pr.domain.costs.budget import CallEstimate
from prd2pr.domain.records import REPLAY_OF
from prd2pr.errors import TranscriptEnded


class ReplayModel:
    """Looks up answers by the request's purpose, so that a restarted run gets the same answers."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._transcript: Transcript = load_transcript(path)
        self.name = f"{REPLAY_OF}{self._transcript.title}"

    def reply(self, request: Request) -> Reply:
        key = request.purpose.key()
        recorded = self._transcript.replies.get(key)
        if recorded is None:
            raise self._missing(key)
        # Token counts are those of the recording; reading a file costs no money.
        return dataclasses.replace(recorded, spend=recorded.spend.model_copy(update={"usd": 0.0}))

    def estimate(self, request: Request | None) -> CallEstimate:  # noqa: ARG002 - replies from a file have a fixed cost
        return CallEstimate(self.name)

    def _missing(self, key: str) -> TranscriptEnded:
        keys = list(self._transcript.replies)
        close = difflib.get_close_matches(key, keys, n=3, cutoff=0.5)
        nearest = f" The nearest are {', '.join(close)}." if close else ""
        return TranscriptEnded(
            f"The transcript has no answer for {key} ({len(keys)} recorded).{nearest}",
            where=str(self._path),
            remedy="Record the missing answer with a live model and `--record`, or run with a live model.",
        )
