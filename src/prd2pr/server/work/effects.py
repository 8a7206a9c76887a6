"""The interface of effects: what is started for a claim. The server itself runs neither a model nor a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from prd2pr.errors import Prd2prError
from prd2pr.server.work.claims import WorkClaim

# Records that a request is about to be sent; raises if the claim belongs to another replica by now.
RecordRequest = Callable[[], None]


class EffectUnclear(Prd2prError):
    """A request was sent, and its outcome is unknown."""


class Effect(Protocol):
    """`turn` counts from 1; each later turn follows a start that did not begin in time."""

    @property
    def settles_in(self) -> float:
        """Seconds after a request in which its work may still appear."""
        ...

    def find(self, claim: WorkClaim, turn: int) -> str | None:
        """Return the mark of work already started for this claim, in this turn or an earlier one."""
        ...

    def begin(self, claim: WorkClaim, turn: int, ask: RecordRequest) -> str:
        """Start the work and return its mark. Call `ask` right before each external request."""
        ...

    def has_started(self, claim: WorkClaim, mark: str) -> bool: ...
