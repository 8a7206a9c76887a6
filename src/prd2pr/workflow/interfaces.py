"""Interfaces that the workflow needs from its environment: a branch writer, a clock and a progress listener."""

from __future__ import annotations

from typing import Protocol


class BranchWriter(Protocol):
    """Moves the PRD's branch, locally or on GitHub, always by compare-and-swap.

    On GitHub, the commits of an unfinished story may be held back; locally, the branch always has all commits.
    """

    def move(self, branch: str, new: str, old: str | None) -> str:
        """Move the branch from `old` to `new`, or create it if `old` is None.

        Return the commit that the branch points to now: `new`, or a signed commit with the same tree. Raise BranchMoved
        if the branch is at another commit than `old`.
        """
        ...

    def release(self, branch: str) -> str | None:
        """Publish commits that were held back, as far as that is allowed now. Return the branch's head."""
        ...


class Clock(Protocol):
    def now(self) -> str:
        """Return the current UTC time in ISO 8601 format, ending in `Z`."""
        ...

    def monotonic(self) -> float: ...


class Progress(Protocol):
    """Receives progress events. They are informative only; nothing depends on them."""

    def say(self, event: str, **facts: object) -> None: ...
