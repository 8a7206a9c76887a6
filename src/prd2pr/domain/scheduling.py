"""Select stories that can be worked on in parallel: no open dependencies, and different files to change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prd2pr.domain.machines.next_action import ActionContext, is_paused
from prd2pr.domain.records import Cycle, Story

MAX_WORKERS = 64
MAX_AUTOMATIC_WORKERS = 4  # upper limit if the number is chosen automatically
ONE_WORKER_NOTE = "the sandbox does not isolate test runs on this machine, so only one worker is used"


def compute_pool_size(requested: int, cores: int) -> int:
    """Return the requested number of workers. 0 means one per core, within limits."""
    return min(requested or min(cores, MAX_AUTOMATIC_WORKERS), MAX_WORKERS)


def find_startable_stories(
    context: ActionContext, under_way: Iterable[str], skipped: Iterable[str] = ()
) -> tuple[Story, ...]:
    """Return the stories that can start now, in plan order.

    Each is independent of those in progress and of those before it.
    """
    busy, left_out = frozenset(under_way), frozenset(skipped)
    taken = {
        place
        for name in busy
        if (story := context.records.find_story(name))
        for place in list_touched_paths(context, story)
    }
    chosen: list[Story] = []
    for story in context.workable_stories:
        if story.id in busy or story.id in left_out or not context.is_approved(story) or is_paused(context, story):
            continue
        if story.verify_only and waits_for_original(context, story):
            continue
        wanted = list_touched_paths(context, story)
        if taken.isdisjoint(wanted):
            chosen.append(story)
            taken |= wanted
    return tuple(chosen)


def list_touched_paths(context: ActionContext, story: Story) -> frozenset[str]:
    """Return the files and the module that a story plans to change.

    The result is empty if they are unknown. Such a story conflicts with no other story.
    """
    return list_planned_paths(story, context.records.cycle(story.id))


def list_planned_paths(story: Story, cycle: Cycle | None) -> frozenset[str]:
    design = cycle.design if cycle else None
    planned = (*story.source_paths, *story.test_paths, story.module)
    designed = (*design.source_paths, *design.test_paths) if design else ()
    return frozenset(path for path in (*planned, *designed) if path)


def waits_for_original(context: ActionContext, story: Story) -> bool:
    """Return whether the story that builds the code for this verify-only story is not settled yet."""
    wanted = set(story.requirements)
    return any(not other.verify_only and wanted.intersection(other.requirements) for other in context.open_stories)


def find_first_in_plan(names: Iterable[str], order: Mapping[str, int]) -> str:
    return min(names, key=lambda name: (order.get(name, len(order)), name), default="")


MAX_JOBS = 256  # GitHub's limit for a matrix
