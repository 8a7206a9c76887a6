"""The part of a plan that one call of the four passes is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from prd2pr.domain.records import PlannedCycle, Requirement
from prd2pr.planning.plan import StoryDraft

# Enough stories to see how they fit together, but few enough for a careful answer.
MAX_STORIES_PER_CALL = 8


@dataclass(frozen=True)
class PlanPart:
    name: str  # unique and stable within a plan, such as `tasks-cycle-2`
    cycles: tuple[PlannedCycle, ...] = ()  # all cycles of the plan, in working order
    cycle: PlannedCycle | None = None  # the cycle to split into stories
    to_cover: tuple[Requirement, ...] = ()  # requirements that the stories of this cycle must fulfill
    stories: tuple[StoryDraft, ...] = ()  # the stories of this call
    plan: tuple[StoryDraft, ...] = ()  # all stories planned so far
    asked: tuple[str, ...] = ()  # questions of earlier calls
    assumed: tuple[str, ...] = ()

    @property
    def about(self) -> str:
        cycles = [self.cycle.id] if self.cycle else list(dict.fromkeys(map(make_story_cycle_id, self.stories)))
        return " to ".join(dict.fromkeys((cycles[0], cycles[-1]))) if cycles else "all requirements"

    @property
    def ids(self) -> str:
        """The requirement ids as text, such as "FR-1 (AC-1, AC-2), FR-1.1, AC-7"."""
        names = {requirement.id for requirement in self.to_cover}
        accepting = [each for each in self.to_cover if each.kind == "acceptance" and each.parent in names]
        listed = []
        for each in self.to_cover:
            own = ", ".join(other.id for other in accepting if other.parent == each.id)
            if each not in accepting:
                listed.append(f"{each.id} ({own})" if own else each.id)
        return ", ".join(listed)


def make_story_cycle_id(story: StoryDraft) -> str:
    """Return the cycle's id from the story's key, such as `cycle-1` for `cycle-1/s2`."""
    return story.key.partition("/")[0]


def build_parts(name: str, stories: Sequence[StoryDraft], most: int = MAX_STORIES_PER_CALL) -> tuple[PlanPart, ...]:
    """Group the stories of neighboring cycles into one call while they are few. A cycle is never split."""
    bundled: list[list[StoryDraft]] = []
    for _, group in groupby(stories, make_story_cycle_id):
        own = list(group)
        if bundled and len(bundled[-1]) + len(own) <= most:
            bundled[-1] += own
        else:
            bundled.append(own)
    return tuple(PlanPart(f"{name}-{make_story_cycle_id(each[0])}", stories=tuple(each)) for each in bundled)
