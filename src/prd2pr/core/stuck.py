"""Whether a branch is stuck: somebody ordered it to go on, and nobody is at work on it any more."""

from __future__ import annotations

from prd2pr.core.records import ProjectState, Status


def is_ordered(status: Status) -> bool:
    """It goes on by itself; whatever else it waits for is a person's turn."""
    return status.order == "run" and not status.halted and status.state is ProjectState.SPRINT_ACTIVE


def is_stuck(status: Status, moved_at: float, now: float, *, after: float, at_work: bool) -> bool:
    """`moved_at`: when its last step was made. Times in seconds."""
    return is_ordered(status) and not at_work and now - moved_at >= after
