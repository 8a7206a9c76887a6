"""What one call of the four passes is about: a part of the plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from prd2pr.core.plan import StoryDraft
from prd2pr.core.records import PlannedCycle, Requirement

# Stories that are asked about together: enough to see that they fit, few enough to be answered with care.
TOGETHER = 8


@dataclass(frozen=True)
class PlanPart:
    name: str  # unique and stable within a plan: `tasks-cycle-2`
    cycles: tuple[PlannedCycle, ...] = ()  # all of the plan, in working order
    cycle: PlannedCycle | None = None  # the one that is to be cut
    to_cover: tuple[Requirement, ...] = ()  # what the stories of this cycle have to fulfil
    stories: tuple[StoryDraft, ...] = ()  # those that are asked about
    plan: tuple[StoryDraft, ...] = ()  # all that is planned so far
    asked: tuple[str, ...] = ()  # questions that stand already
    assumed: tuple[str, ...] = ()

    @property
    def about(self) -> str:
        cycles = [self.cycle.id] if self.cycle else list(dict.fromkeys(map(cycle_of, self.stories)))
        return " to ".join(dict.fromkeys((cycles[0], cycles[-1]))) if cycles else "all requirements"

    @property
    def ids(self) -> str:
        """FR-1 (AC-1, AC-2), FR-1.1, AC-7"""
        names = {requirement.id for requirement in self.to_cover}
        accepting = [each for each in self.to_cover if each.kind == "acceptance" and each.parent in names]
        told = []
        for each in self.to_cover:
            own = ", ".join(other.id for other in accepting if other.parent == each.id)
            if each not in accepting:
                told.append(f"{each.id} ({own})" if own else each.id)
        return ", ".join(told)


def cycle_of(story: StoryDraft) -> str:
    """`cycle-1/s2` → `cycle-1`"""
    return story.key.partition("/")[0]


def bundles(name: str, stories: Sequence[StoryDraft], most: int = TOGETHER) -> tuple[PlanPart, ...]:
    """One question for the stories of neighbouring cycles, while they are few; a cycle is asked about as a whole."""
    bundled: list[list[StoryDraft]] = []
    for _, group in groupby(stories, cycle_of):
        own = list(group)
        if bundled and len(bundled[-1]) + len(own) <= most:
            bundled[-1] += own
        else:
            bundled.append(own)
    return tuple(PlanPart(f"{name}-{cycle_of(each[0])}", stories=tuple(each)) for each in bundled)
