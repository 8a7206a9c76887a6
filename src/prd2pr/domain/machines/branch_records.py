"""The records of a branch on which decisions are based."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from prd2pr.domain.breakers.records import Circuits
from prd2pr.domain.records import Backlog, Cycle, Prd, Sprint, Status, Story


@dataclass(frozen=True)
class BranchRecords:
    """The records before a decision. Cycles are loaded on demand, since there may be thousands."""

    prd: Prd
    status: Status
    backlog: Backlog
    cycle: Callable[[str], Cycle | None]
    sprint: Sprint | None = None
    circuits: Circuits = field(default_factory=Circuits)

    def find_story(self, name: str) -> Story | None:
        return next((story for story in self.backlog.stories if story.id == name), None)
