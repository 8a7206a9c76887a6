"""What a branch's records say now: read to decide about them, and to tell what is next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from prd2pr.core.breakers.records import Circuits
from prd2pr.core.records import Backlog, Cycle, Prd, Sprint, Status, Story


@dataclass(frozen=True)
class Found:
    """The records before a decision. Cycles are read one by one: there may be thousands."""

    prd: Prd
    status: Status
    backlog: Backlog
    cycle: Callable[[str], Cycle | None]
    sprint: Sprint | None = None
    circuits: Circuits = field(default_factory=Circuits)

    def story(self, name: str) -> Story | None:
        return next((story for story in self.backlog.stories if story.id == name), None)
