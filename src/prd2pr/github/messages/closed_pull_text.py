"""The status comment of a closed or merged pull request."""

from __future__ import annotations

from dataclasses import dataclass, replace

from prd2pr.domain.machines.commands import COMMANDS
from prd2pr.domain.records import SETTLED, Backlog
from prd2pr.github.messages.query_replies import (
    BacklogReply,
    BudgetReply,
    HelpReply,
    OverviewReply,
    SprintReply,
    StateReply,
    StoryStatusReply,
)
from prd2pr.github.messages.replies import CommandReply, IllegalReply, NotNow
from prd2pr.views.models import NextStep

REPLIES_WITH_NEXT = (
    BacklogReply,
    BudgetReply,
    IllegalReply,
    NotNow,
    OverviewReply,
    SprintReply,
    StateReply,
    StoryStatusReply,
)
QUERY_TEXTS = frozenset(
    text for spec in COMMANDS.values() if spec.reads for text in (spec.name, spec.shown, spec.usage)
)


@dataclass(frozen=True)
class ClosedView:
    title: str
    pull: int
    base: str
    branch: str
    merged: bool
    branch_there: bool
    path: str = ""  # path of the PRD, if it is a file
    stories: int = 0  # 0 if unknown
    settled: int = 0

    @property
    def next_step(self) -> str:
        """The next step for people. Commands have no effect on a closed pull request."""
        branch, path = (name.replace("`", "'") for name in (self.branch, self.path))
        if not self.merged:
            restored = "" if self.branch_there else "restore the branch, "
            return f"To continue, {restored}reopen #{self.pull} and comment `/tdd run`."
        left = "The remaining stories are not built automatically. " if self.settled < self.stories else ""
        if not path:
            return f"{left}To build more, open a new issue."
        deleted = f"delete the branch `{branch}`, then " if self.branch_there else ""
        return f"{left}To build more, {deleted}change `{path}` and push it."


@dataclass(frozen=True)
class HaltedView:
    """An open pull request whose branch a person must repair first."""

    title: str
    reason: str
    next_step: str


def limit_to_queries(answer: CommandReply, way_on: str) -> CommandReply:
    """Adapt a reply for a closed pull request, where only queries are allowed."""
    if isinstance(answer, HelpReply):
        return replace(
            answer, rows=tuple(replace(row, now=row.now and row.usage in QUERY_TEXTS) for row in answer.rows)
        )
    if isinstance(answer, StateReply):
        answer = replace(answer, allowed=tuple(name for name in answer.allowed if name in QUERY_TEXTS))
    return replace(answer, next=NextStep(way_on)) if isinstance(answer, REPLIES_WITH_NEXT) else answer


def count_settled(backlog: Backlog) -> int:
    return sum(story.status in SETTLED for story in backlog.stories)
