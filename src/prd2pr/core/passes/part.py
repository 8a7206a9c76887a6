"""What one call of the four passes is about: a part of the plan."""

from __future__ import annotations

from dataclasses import dataclass

from prd2pr.core.plan import StoryDraft
from prd2pr.core.records import PlannedCycle, Requirement


@dataclass(frozen=True)
class PlanPart:
    name: str  # unique and stable within a plan: `tasks-cycle-2`
    cycles: tuple[PlannedCycle, ...] = ()  # all of the plan, in working order
    cycle: PlannedCycle | None = None  # the one that is asked about
    to_cover: tuple[Requirement, ...] = ()  # what the stories of this cycle have to fulfil
    stories: tuple[StoryDraft, ...] = ()  # those that are asked about
    plan: tuple[StoryDraft, ...] = ()  # all that is planned so far

    @property
    def about(self) -> str:
        return self.cycle.id if self.cycle else "all requirements"
