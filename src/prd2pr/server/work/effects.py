"""What is done for a claim. The server itself runs neither a model nor a test: it has the work done elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from prd2pr.errors import Prd2prError
from prd2pr.server.work.claims import Claim

# Puts on record that something is about to be asked for; raises where the claim is another's by now.
Ask = Callable[[], None]


class Unclear(Prd2prError):
    """Something was asked for, and nobody knows whether it was done."""


class Effect(Protocol):
    """`turn` counts from 1: the work that was started before did not begin in time."""

    @property
    def settles_in(self) -> float:
        """Seconds after the asking in which what was asked for may still turn up."""
        ...

    def find(self, claim: Claim, turn: int) -> str | None:
        """The mark of what somebody started for this claim before, in this turn or an earlier one."""
        ...

    def begin(self, claim: Claim, turn: int, ask: Ask) -> str:
        """Starts the work; its mark. Asks right before each thing that it has done elsewhere."""
        ...

    def has_begun(self, claim: Claim, mark: str) -> bool: ...
