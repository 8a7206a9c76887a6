"""Which stories can be worked on beside each other: those that wait for nothing and plan to touch other files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prd2pr.core.ahead import Outlook, is_paused
from prd2pr.core.records import Cycle, Story


def startable(view: Outlook, under_way: Iterable[str], skipped: Iterable[str] = ()) -> tuple[Story, ...]:
    """In the plan's order, each independent of those under way and of those before it in the answer."""
    busy, left_out = frozenset(under_way), frozenset(skipped)
    taken = {place for name in busy if (story := view.found.story(name)) for place in places(view, story)}
    chosen: list[Story] = []
    for story in view.free:
        if story.id in busy or story.id in left_out or not view.may(story) or is_paused(view, story):
            continue
        if story.verify_only and waits_for_original(view, story):
            continue
        wanted = places(view, story)
        if taken.isdisjoint(wanted):
            chosen.append(story)
            taken |= wanted
    return tuple(chosen)


def places(view: Outlook, story: Story) -> frozenset[str]:
    """Files and module that it plans to touch, by plan and design. Of nothing known, nothing is in anybody's way."""
    return planned_places(story, view.found.cycle(story.id))


def planned_places(story: Story, cycle: Cycle | None) -> frozenset[str]:
    design = cycle.design if cycle else None
    named = (*story.source_paths, *story.test_paths, story.module)
    drawn = (*design.source_paths, *design.test_paths) if design else ()
    return frozenset(place for place in (*named, *drawn) if place)


def waits_for_original(view: Outlook, story: Story) -> bool:
    """Another story is planned to build it: until that one is settled, its tests would find nothing."""
    wanted = set(story.requirements)
    return any(not other.verify_only and wanted.intersection(other.requirements) for other in view.left)


def first_in_plan(names: Iterable[str], order: Mapping[str, int]) -> str:
    return min(names, key=lambda name: (order.get(name, len(order)), name), default="")
