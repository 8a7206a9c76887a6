"""The interface of effects: what is started for a batch. The server itself runs neither a model nor a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from prd2pr.errors import Prd2prError
from prd2pr.server.work.batches import Batch

MAX_STARTS = 3
# Records that a request is about to be sent; raises if another replica works on the batch by now.
RecordRequest = Callable[[], None]


class EffectUnclear(Prd2prError):
    """A request was sent, and its outcome is unknown."""


class Effect(Protocol):
    """`turn` counts from 1 to `MAX_STARTS`; each later turn follows a start that did not begin in time."""

    @property
    def settles_in(self) -> float:
        """Seconds after a request in which its work may still appear."""
        ...

    def find(self, batch: Batch) -> str | None:
        """Return the mark of work already started for this batch, in any turn."""
        ...

    def begin(self, batch: Batch, turn: int, ask: RecordRequest) -> str:
        """Start the work and return its mark. Call `ask` right before each external request."""
        ...

    def has_started(self, batch: Batch, mark: str) -> bool: ...
