"""The moderator: rules, no model. Work that goes round in circles or beyond its plan is stopped, and a person decides.

Attempts at a phase have a bound of their own, and so has trouble (`core/breakers/`). What is looked for here is what
neither sees: steps of a story that come again and again. Whatever a person says about the story answers the alarm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from prd2pr.core.effects.money import SPENT
from prd2pr.core.records import SETTLED, UNTESTED_KINDS, Cycle, Phase, Step, Story
from prd2pr.core.wording import clip, count, plain

Weight = Literal["critical", "warning"]

SAME_ACTION = 3
LAST_ACTIONS = 10
CREEP = 1.5  # times the steps that a story is planned with
MANY_WARNINGS = 10  # in the verdicts of one story
TOO_MANY = 5  # alarms that are warnings

BLOCKED = "blocked"
# A refactoring is made as often as it is worth it.
COME_AGAIN = frozenset({Phase.DESIGN, Phase.RED, Phase.GREEN, Phase.INTEGRATED})
PHASES = COME_AGAIN | {Phase.REFACTOR}


@dataclass(frozen=True)
class Alarm:
    story: str
    weight: Weight
    text: str  # what was seen, with its numbers


AT_REST = frozenset((*SETTLED, "backlog", "sprint"))
Warnings = Callable[[Story, Cycle], int]  # in the verdicts that let the story through


def nothing_counted(_: Story, __: Cycle) -> int:
    return 0


def alarms_of(
    stories: Iterable[Story], cycle_of: Callable[[str], Cycle | None], warnings: Warnings = nothing_counted
) -> tuple[Alarm, ...]:
    """Of the stories that are under way: what is settled is past."""
    found: list[Alarm] = []
    for story in stories:
        cycle = cycle_of(story.id) if story.status not in AT_REST else None
        if cycle is not None and cycle.steps and not is_answered(cycle):
            found += alarms_about(story, cycle, warnings(story, cycle))
    return tuple(found)


def alarms_about(story: Story, cycle: Cycle, warnings: int) -> Iterable[Alarm]:
    repeated = doom_loop(cycle.steps)
    if repeated:
        yield Alarm(story.id, "critical", repeated)
    made, planned = sum(step.phase in PHASES for step in cycle.steps), planned_steps(story)
    if made > CREEP * planned:
        yield Alarm(story.id, "warning", f"it took {count(made, 'step')}, and was planned with {planned}")
    if warnings > MANY_WARNINGS:
        yield Alarm(story.id, "warning", f"its gates let it through with {count(warnings, 'warning')}")


def doom_loop(steps: tuple[Step, ...]) -> str:
    """The same action, three times among the last ten; empty: none."""
    last = [action for step in steps if (action := action_of(step))][-LAST_ACTIONS:]
    for action, times in Counter(last).most_common(1):
        if times >= SAME_ACTION:
            return f"{action}: {times} times in its last {count(len(last), 'step')}"
    return ""


def action_of(step: Step) -> str:
    """What prd2pr did; empty where a person did it."""
    if step.phase in COME_AGAIN:
        return f"{step.phase.value} was done"
    if step.phase is not Phase.NOTE or not by_itself(step):
        return ""
    return SPENT if step.note.startswith(SPENT) else clip(plain(step.note), 200)


def by_itself(step: Step) -> bool:
    return step.note.startswith((SPENT, BLOCKED))


def is_answered(cycle: Cycle) -> bool:
    """Nothing has happened since a person decided about this story, or worked on it."""
    last = cycle.steps[-1]
    return last.phase is Phase.NOTE and not by_itself(last)


def planned_steps(story: Story) -> int:
    """Design, tests, code, refactoring and integration; what is not tested has no tests and no refactoring."""
    return 3 if story.kind in UNTESTED_KINDS else 5


def needs_a_person(alarms: Iterable[Alarm]) -> bool:
    weights = [alarm.weight for alarm in alarms]
    return "critical" in weights or len(weights) >= TOO_MANY


def evidence(alarms: Iterable[Alarm]) -> str:
    """In one line: each story with what was seen of it."""
    return "; ".join(f"`{plain(alarm.story)}`: {alarm.text}" for alarm in alarms)
