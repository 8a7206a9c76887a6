"""How many stories of a sprint were left, and when: from the records alone, as a chart and in a line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from prd2pr.core.records import Cycle, Phase, Sprint, Story
from prd2pr.core.wording import count, moment

MARKS = re.compile(r"[^A-Za-z0-9 :-]")
MOST_POINTS = 20  # a chart with more cannot be read


@dataclass(frozen=True)
class Point:
    at: str
    left: int


def burn_down(sprint: Sprint, stories: Iterable[Story], cycle_of: Callable[[str], Cycle | None]) -> tuple[Point, ...]:
    """From its start on; empty for a sprint that nobody has started."""
    if sprint.started_at is None:
        return ()
    settled = sorted(
        max(at, sprint.started_at)
        for story in stories
        if story.id in sprint.stories and (at := settled_at(story, cycle_of(story.id))) is not None
    )
    left = len(sprint.stories)
    points = {sprint.started_at: Point(sprint.started_at, left)}
    for number, at in enumerate(settled, start=1):
        points[at] = Point(at, left - number)  # of several at one moment, the last counts
    return tuple(points.values())


def settled_at(story: Story, cycle: Cycle | None) -> str | None:
    """When it was integrated or left out; None: it is not settled. Without a record it counts from the beginning."""
    if story.status not in ("done", "skipped"):
        return None
    steps = cycle.steps if cycle else ()
    of_kind = [step.at for step in steps if story.status == "skipped" or step.phase is Phase.INTEGRATED]
    return of_kind[-1] if of_kind else ""


def in_a_line(points: tuple[Point, ...]) -> str:
    """5 → 4 → 2 stories left since 2026-11-17 12:04 UTC"""
    if not points:
        return ""
    *earlier, last = thinned(points)
    way = "".join(f"{point.left} → " for point in earlier)
    return f"{way}{count(last.left, 'story')} left since {moment(points[0].at)}"


def chart(sprint: Sprint, points: tuple[Point, ...]) -> str:
    """For Mermaid. It stands in a fence as it is, so nothing in it may be anybody's words."""
    if len(points) < 2:
        return ""
    shown = thinned(points)
    moments = ", ".join(f'"{MARKS.sub("", moment(point.at).removesuffix(" UTC"))}"' for point in shown)
    left = ", ".join(str(point.left) for point in shown)
    return (
        "xychart-beta\n"
        f'    title "Sprint {MARKS.sub("", sprint.id)}: stories left"\n'
        f"    x-axis [{moments}]\n"
        f'    y-axis "stories" 0 --> {max(point.left for point in shown)}\n'
        f"    line [{left}]"
    )


def thinned(points: tuple[Point, ...]) -> tuple[Point, ...]:
    """The first, the last, and as many between them as can be read."""
    if len(points) <= MOST_POINTS:
        return points
    stride = (len(points) - 1) / (MOST_POINTS - 1)
    return tuple(points[round(number * stride)] for number in range(MOST_POINTS))
