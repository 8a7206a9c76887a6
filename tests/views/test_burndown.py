"""The burndown chart, from records alone."""

from __future__ import annotations

from prd2pr.domain.records import Cycle, Phase, Sprint, Step, Story
from prd2pr.views.burndown import MAX_POINTS, compute_burndown, format_burndown, render_burndown_chart
from prd2pr.views.models import BurndownPoint

NAMES = ("calc-1", "calc-2", "calc-3", "calc-4")
SPRINT = Sprint(id="s1", goal="g", stories=NAMES, status="active", started_at="2026-11-17T12:00:00Z")


def story(name: str, status: str = "sprint") -> Story:
    return Story.model_validate({"id": name, "epic": "", "title": name, "status": status})


def cycle(name: str, *steps: tuple[Phase, str]) -> Cycle:
    made = (Step(n=n, phase=phase, at=at, code_tree="", evidence="") for n, (phase, at) in enumerate(steps, 1))
    return Cycle(story=name, steps=tuple(made))


def test_each_settled_story_reduces_the_count() -> None:
    stories = [story("calc-1", "done"), story("calc-2", "skipped"), story("calc-3"), story("calc-4", "done")]
    cycles = {
        "calc-1": cycle("calc-1", (Phase.GREEN, "2026-11-17T12:10:00Z"), (Phase.INTEGRATED, "2026-11-17T12:20:00Z")),
        "calc-2": cycle("calc-2", (Phase.DESIGN, "2026-11-17T12:25:00Z"), (Phase.NOTE, "2026-11-17T13:00:00Z")),
        "calc-3": cycle("calc-3", (Phase.GREEN, "2026-11-17T13:05:00Z")),
        "calc-4": cycle("calc-4", (Phase.INTEGRATED, "2026-11-17T12:20:00Z")),
    }
    points = compute_burndown(SPRINT, [*stories, story("calc-9", "done")], cycles.get)
    assert points == (
        BurndownPoint("2026-11-17T12:00:00Z", 4),
        BurndownPoint("2026-11-17T12:20:00Z", 2),
        BurndownPoint("2026-11-17T13:00:00Z", 1),
    )
    assert format_burndown(points) == "4 → 2 → 1 story left since 2026-11-17 12:00 UTC"
    assert render_burndown_chart(SPRINT, points) == (
        "xychart-beta\n"
        '    title "Sprint s1: stories left"\n'
        '    x-axis ["2026-11-17 12:00", "2026-11-17 12:20", "2026-11-17 13:00"]\n'
        '    y-axis "stories" 0 --> 4\n'
        "    line [4, 2, 1]"
    )


def test_planned_sprint_has_no_burndown() -> None:
    planned = SPRINT.model_copy(update={"started_at": None})
    assert compute_burndown(planned, [story("calc-1", "done")], {}.get) == ()
    assert (format_burndown(()), render_burndown_chart(SPRINT, ())) == ("", "")
    begun = compute_burndown(SPRINT, [story("calc-1")], {}.get)
    assert format_burndown(begun) == "4 stories left since 2026-11-17 12:00 UTC"
    assert render_burndown_chart(SPRINT, begun) == "", "a point is no line"


def test_story_without_a_record_counts_from_the_start() -> None:
    assert compute_burndown(SPRINT, [story("calc-1", "skipped")], {}.get) == (BurndownPoint("2026-11-17T12:00:00Z", 3),)


def test_long_sprint_is_thinned_and_keeps_its_ends() -> None:
    points = tuple(BurndownPoint(f"2026-11-17T12:{minute:02}:00Z", 60 - minute) for minute in range(60))
    drawn = render_burndown_chart(SPRINT, points)
    assert drawn.count("2026-11-17") == MAX_POINTS
    assert "line [60, " in drawn and ", 1]" in drawn
