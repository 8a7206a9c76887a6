"""What the status comment says once its pull request is closed or merged."""

from __future__ import annotations

from dataclasses import dataclass

from prd2pr.core.records import SETTLED, Backlog


@dataclass(frozen=True)
class OverView:
    title: str
    pull: int
    base: str
    branch: str
    merged: bool
    branch_there: bool
    path: str = ""  # of the PRD, where it is a file
    stories: int = 0  # 0: not known
    settled: int = 0


def settled_stories(backlog: Backlog) -> int:
    return sum(story.status in SETTLED for story in backlog.stories)
