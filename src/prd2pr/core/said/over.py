"""What the status comment says once its pull request is closed or merged."""

from __future__ import annotations

from dataclasses import dataclass, replace

from prd2pr.core.command_table import COMMANDS
from prd2pr.core.picture_parts import NextStep
from prd2pr.core.records import SETTLED, Backlog
from prd2pr.core.said.answers import Answer, Illegal, NotNow
from prd2pr.core.said.readings import (
    BacklogShown,
    BudgetShown,
    Help,
    Overview,
    SprintShown,
    StateShown,
    StoryStatusShown,
)

WITH_NEXT = (BacklogShown, BudgetShown, Illegal, NotNow, Overview, SprintShown, StateShown, StoryStatusShown)
READ = frozenset(text for spec in COMMANDS.values() if spec.reads for text in (spec.name, spec.shown, spec.usage))


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

    @property
    def way_on(self) -> str:
        """What a person can do, since no command changes anything here any more."""
        branch, path = (name.replace("`", "'") for name in (self.branch, self.path))
        if not self.merged:
            restored = "" if self.branch_there else "restore the branch, "
            return f"To go on, {restored}reopen #{self.pull} and comment `/tdd run`."
        left = "What is left is not built by itself. " if self.settled < self.stories else ""
        if not path:
            return f"{left}To build more, open another issue."
        deleted = f"delete the branch `{branch}`, then " if self.branch_there else ""
        return f"{left}To build more, {deleted}change `{path}` and push it."


@dataclass(frozen=True)
class HaltedView:
    """An open pull request whose branch a person has to look after first."""

    title: str
    reason: str
    way_on: str


def as_over(answer: Answer, way_on: str) -> Answer:
    """What the branch answers knows nothing of its pull request: nothing but reading is allowed now."""
    if isinstance(answer, Help):
        return replace(answer, rows=tuple(replace(row, now=row.now and row.usage in READ) for row in answer.rows))
    if isinstance(answer, StateShown):
        answer = replace(answer, allowed=tuple(name for name in answer.allowed if name in READ))
    return replace(answer, next=NextStep(way_on)) if isinstance(answer, WITH_NEXT) else answer


def settled_stories(backlog: Backlog) -> int:
    return sum(story.status in SETTLED for story in backlog.stories)
