"""The moderator's rules: what raises an alarm, what does not, and what clears it."""

from __future__ import annotations

import pytest

from prd2pr.domain.costs.budget import SPENT_NOTE
from prd2pr.domain.moderation import Alarm, describe_alarms, find_alarms, find_repeated_action, needs_person
from prd2pr.domain.records import Cycle, Phase, Step, Story

HONEST = (Phase.DESIGN, Phase.RED, Phase.GREEN, Phase.REFACTOR, Phase.INTEGRATED)
LOST = f"{SPENT_NOTE} by prd2pr: 900 tokens"


def steps(*made: Phase | str) -> tuple[Step, ...]:
    """A phase by its name, a note by its text."""
    return tuple(
        Step(
            n=n,
            phase=Phase.NOTE if isinstance(each, str) and not isinstance(each, Phase) else Phase(each),
            at="2026-11-17T12:00:00Z",
            code_tree="",
            evidence="",
            note="" if isinstance(each, Phase) else each,
        )
        for n, each in enumerate(made, start=1)
    )


def alarms(*made: Phase | str, status: str = "in_progress", kind: str = "feature", warnings: int = 0) -> list[str]:
    """The weight and the text of each alarm."""
    story = Story.model_validate({"id": "calc-1", "epic": "", "title": "Add", "status": status, "kind": kind})
    cycle = Cycle(story="calc-1", steps=steps(*made))
    found = find_alarms([story], {"calc-1": cycle}.get, lambda *_: warnings)
    return [f"{alarm.weight}: {alarm.text}" for alarm in found]


def test_ordinary_work_raises_no_alarm() -> None:
    for end in range(1, len(HONEST) + 1):
        assert alarms(*HONEST[:end]) == []
    blocked = (Phase.DESIGN, Phase.RED, "blocked: green was refused 4 times", "/suggest_fix by ann: round half up")
    assert alarms(*blocked, Phase.GREEN, "/tdd undo by ann", Phase.GREEN, Phase.REFACTOR) == []
    assert alarms(Phase.DESIGN, Phase.RED, LOST, LOST, Phase.GREEN) == [], "a run may be cut off twice"
    assert alarms(*HONEST[:4], Phase.REFACTOR, Phase.REFACTOR) == [], "as often as it is worth it"
    assert alarms(warnings=99) == [], "nobody has worked on it"


def test_repeated_spending_without_progress_is_a_loop() -> None:
    assert alarms(Phase.DESIGN, LOST, LOST, LOST) == [f"critical: {SPENT_NOTE}: 3 times in its last 4 steps"]
    ten = [Phase.DESIGN, Phase.RED, *(f"blocked: {n}" for n in range(5))]
    (found,) = alarms(LOST, *ten, LOST, LOST)
    assert found.startswith(f"critical: {SPENT_NOTE}: 3 times") and found.endswith(" 10 steps")
    assert alarms(LOST, *ten, "blocked: 5", LOST, LOST) == [], "the first is the eleventh"


def test_the_same_phase_three_times_is_a_loop() -> None:
    undone = (Phase.GREEN, "/tdd undo calc-1 by ann")
    assert alarms(Phase.DESIGN, Phase.RED, *undone, *undone) == []
    (found,) = alarms(Phase.DESIGN, Phase.RED, *undone, *undone, Phase.GREEN)
    assert found.startswith("critical: green was done: 3 times") and found.endswith(" 5 steps")


@pytest.mark.parametrize("word", ["/tdd retry calc-1 by ann", "tried again by Ada", "the work of Ada is refused"])
def test_any_action_by_a_person_clears_the_alarm(word: str) -> None:
    assert alarms(Phase.DESIGN, LOST, LOST, LOST, word) == []
    assert find_repeated_action(steps(LOST, word, LOST, word, LOST)) != "", (
        "and it is seen again if it goes on like that"
    )


def test_settled_and_unstarted_stories_are_ignored() -> None:
    for status in ("done", "skipped", "backlog", "sprint"):
        assert alarms(LOST, LOST, LOST, status=status) == []


def test_excess_steps_and_many_warnings_are_reported() -> None:
    seven = (*HONEST[:4], Phase.REFACTOR, Phase.REFACTOR, Phase.REFACTOR)
    assert alarms(*seven) == []
    assert alarms(*seven, Phase.REFACTOR) == ["warning: it took 8 steps; 5 were planned"]
    assert alarms(Phase.DESIGN, *[Phase.REFACTOR] * 4, kind="docs") == ["warning: it took 5 steps; 3 were planned"]
    assert alarms(*HONEST[:2], warnings=10) == []
    assert alarms(*HONEST[:2], warnings=11) == ["warning: it passed its gates with 11 warnings"]


def test_one_critical_or_five_warnings_call_a_person() -> None:
    warning, critical = Alarm("calc-1", "warning", "w"), Alarm("calc-2", "critical", "c")
    assert not needs_person([])
    assert not needs_person([warning] * 4)
    assert needs_person([warning] * 5)
    assert needs_person([critical])
    assert describe_alarms([warning, critical]) == "`calc-1`: w; `calc-2`: c"
