"""The interface of effects, which start the work for a batch. The server itself runs neither models nor tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from prd2pr.errors import Prd2prError
from prd2pr.server.work.batches import Batch

MAX_STARTS = 3
# Records that a request is about to be sent; raises if another replica has taken over the batch.
RecordRequest = Callable[[], None]


class EffectUnclear(Prd2prError):
    """A request was sent, but its outcome is unknown."""


class Effect(Protocol):
    """Starts the work for a batch.

    `turn` counts the starts from 1 to `MAX_STARTS`. The work is started again if it did not begin in time.
    """

    @property
    def settles_in(self) -> float:
        """Seconds after a request during which the requested work may still appear."""
        ...

    def find(self, batch: Batch) -> str | None:
        """Return the mark of work that was started for this batch in any turn."""
        ...

    def begin(self, batch: Batch, turn: int, ask: RecordRequest) -> str:
        """Start the work and return its mark. Call `ask` immediately before each external request."""
        ...

    def has_started(self, batch: Batch, mark: str) -> bool: ...
