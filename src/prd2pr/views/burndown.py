"""Burndown of a sprint: open stories over time, as a chart and as one line of text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from prd2pr.domain.records import Cycle, Phase, Sprint, Story
from prd2pr.domain.wording import count, format_time
from prd2pr.views.models import BurndownPoint

UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9 :-]")
MAX_POINTS = 20  # a chart with more points is unreadable


def compute_burndown(
    sprint: Sprint, stories: Iterable[Story], cycle_of: Callable[[str], Cycle | None]
) -> tuple[BurndownPoint, ...]:
    """Return the number of open stories over time, or an empty tuple if the sprint has not started."""
    if sprint.started_at is None:
        return ()
    settled = sorted(
        max(at, sprint.started_at)
        for story in stories
        if story.id in sprint.stories and (at := find_settled_time(story, cycle_of(story.id))) is not None
    )
    left = len(sprint.stories)
    points = {sprint.started_at: BurndownPoint(sprint.started_at, left)}
    for number, at in enumerate(settled, start=1):
        # if several stories finish at the same time, the last count is used
        points[at] = BurndownPoint(at, left - number)
    return tuple(points.values())


def find_settled_time(story: Story, cycle: Cycle | None) -> str | None:
    """Return when the story was integrated or skipped.

    Returns None if the story is open, and an empty string if the time is not recorded.
    """
    if story.status not in ("done", "skipped"):
        return None
    steps = cycle.steps if cycle else ()
    of_kind = [step.at for step in steps if story.status == "skipped" or step.phase is Phase.INTEGRATED]
    return of_kind[-1] if of_kind else ""


def format_burndown(points: tuple[BurndownPoint, ...]) -> str:
    """Format the burndown as `5 → 4 → 2 stories left since 2026-11-17 12:04 UTC`."""
    if not points:
        return ""
    *earlier, last = thin_points(points)
    way = "".join(f"{point.left} → " for point in earlier)
    return f"{way}{count(last.left, 'story')} left since {format_time(points[0].at)}"


def render_burndown_chart(sprint: Sprint, points: tuple[BurndownPoint, ...]) -> str:
    """Render a Mermaid chart. Its text is not escaped, so it must not contain untrusted text."""
    if len(points) < 2:
        return ""
    shown = thin_points(points)
    moments = ", ".join(f'"{UNSAFE_CHARACTERS.sub("", format_time(point.at).removesuffix(" UTC"))}"' for point in shown)
    left = ", ".join(str(point.left) for point in shown)
    return (
        "xychart-beta\n"
        f'    title "Sprint {UNSAFE_CHARACTERS.sub("", sprint.id)}: stories left"\n'
        f"    x-axis [{moments}]\n"
        f'    y-axis "stories" 0 --> {max(point.left for point in shown)}\n'
        f"    line [{left}]"
    )


def thin_points(points: tuple[BurndownPoint, ...]) -> tuple[BurndownPoint, ...]:
    """Keep the first and the last point, and as many in between as fit on a chart."""
    if len(points) <= MAX_POINTS:
        return points
    stride = (len(points) - 1) / (MAX_POINTS - 1)
    return tuple(points[round(number * stride)] for number in range(MAX_POINTS))
