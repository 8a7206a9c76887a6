"""What is done for a claim. The server itself runs neither a model nor a test: it has the work done elsewhere."""

from __future__ import annotations

from typing import Protocol

from prd2pr.server.work.claims import Claim


class Effect(Protocol):
    """Both are steps that may be repeated after a kill: they find by the claim's id what they did before."""

    def begin(self, claim: Claim, turn: int) -> str:
        """Starts the work, or finds it started; its mark. `turn` counts from 1: the work that was started before did
        not begin in time."""
        ...

    def has_begun(self, claim: Claim, mark: str) -> bool: ...
