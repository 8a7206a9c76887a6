"""What the workflow needs from its environment: a branch writer, a clock and a progress listener."""

from __future__ import annotations

from typing import Protocol


class BranchWriter(Protocol):
    """Moves the PRD's branch, on this machine or on GitHub, always by compare-and-swap."""

    def move(self, branch: str, new: str, old: str | None) -> str:
        """Move the branch from `old` (None: create it) to `new`; raise BranchMoved if it is elsewhere.

        Return the commit that the branch points to now: `new`, or a signed commit with the same tree.
        """
        ...


class Clock(Protocol):
    def now(self) -> str:
        """Return the time in UTC as ISO 8601 with a Z."""
        ...

    def monotonic(self) -> float: ...


class Progress(Protocol):
    """Receives progress events; losing them loses nothing."""

    def say(self, event: str, **facts: object) -> None: ...
