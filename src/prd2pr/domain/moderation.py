"""The moderator: rules that stop a story that repeats itself or exceeds its plan, until a person decides.

No model is used.||Attempts at a phase and failures (`domain/breakers/`) are limited elsewhere; this module finds
repeated steps of a story. Any decision or commit by a person about the story answers the alarm. Attempts at a phase and
failures (`domain/breakers/`) are limited elsewhere; this module finds repeated steps of a story. Any decision or commit
by a person about the story answers the alarm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from prd2pr.domain.costs.budget import SPENT_NOTE
from prd2pr.domain.records import SETTLED, UNTESTED_KINDS, Cycle, Phase, Step, Story
from prd2pr.domain.wording import clean_line, clip, count

Weight = Literal["critical", "warning"]

REPEATS_TO_ALARM = 3
ACTIONS_CONSIDERED = 10
SCOPE_CREEP_FACTOR = 1.5  # relative to the number of planned steps
MAX_WARNINGS = 10  # warnings in the verdicts of one story
WARNING_ALARMS_TO_STOP = 5

BLOCKED = "blocked"
# REFACTOR is not listed, since a refactoring may be repeated.
UNREPEATED_PHASES = frozenset({Phase.DESIGN, Phase.RED, Phase.GREEN, Phase.INTEGRATED})
PHASES = UNREPEATED_PHASES | {Phase.REFACTOR}


@dataclass(frozen=True)
class Alarm:
    story: str
    weight: Weight
    text: str  # the observation with its numbers


INACTIVE_STATUSES = frozenset((*SETTLED, "backlog", "sprint"))
WarningCounter = Callable[[Story, Cycle], int]  # counts warnings in the story's accepted verdicts


def count_no_warnings(_: Story, __: Cycle) -> int:
    return 0


def find_alarms(
    stories: Iterable[Story], cycle_of: Callable[[str], Cycle | None], warnings: WarningCounter = count_no_warnings
) -> tuple[Alarm, ...]:
    """Return the alarms of active stories that no person has answered."""
    found: list[Alarm] = []
    for story in stories:
        cycle = cycle_of(story.id) if story.status not in INACTIVE_STATUSES else None
        if cycle is not None and cycle.steps and not is_answered(cycle):
            found += find_story_alarms(story, cycle, warnings(story, cycle))
    return tuple(found)


def find_story_alarms(story: Story, cycle: Cycle, warnings: int) -> Iterable[Alarm]:
    repeated = find_repeated_action(cycle.steps)
    if repeated:
        yield Alarm(story.id, "critical", repeated)
    made, planned = sum(step.phase in PHASES for step in cycle.steps), count_planned_steps(story)
    if made > SCOPE_CREEP_FACTOR * planned:
        yield Alarm(story.id, "warning", f"it took {count(made, 'step')}; {planned} were planned")
    if warnings > MAX_WARNINGS:
        yield Alarm(story.id, "warning", f"it passed its gates with {count(warnings, 'warning')}")


def find_repeated_action(steps: tuple[Step, ...]) -> str:
    """Describe an action that occurs three times in the last ten, or return an empty string."""
    last = [action for step in steps if (action := describe_action(step))][-ACTIONS_CONSIDERED:]
    for action, times in Counter(last).most_common(1):
        if times >= REPEATS_TO_ALARM:
            return f"{action}: {times} times in its last {count(len(last), 'step')}"
    return ""


def describe_action(step: Step) -> str:
    """Describe the action of prd2pr in a step, or return an empty string for a person's step."""
    if step.phase in UNREPEATED_PHASES:
        return f"{step.phase.value} was done"
    if step.phase is not Phase.NOTE or not is_automatic_note(step):
        return ""
    return SPENT_NOTE if step.note.startswith(SPENT_NOTE) else clip(clean_line(step.note), 200)


def is_automatic_note(step: Step) -> bool:
    return step.note.startswith((SPENT_NOTE, BLOCKED))


def is_answered(cycle: Cycle) -> bool:
    """Return whether the story's last step is a person's decision or work."""
    last = cycle.steps[-1]
    return last.phase is Phase.NOTE and not is_automatic_note(last)


def count_planned_steps(story: Story) -> int:
    """Return the number of planned steps: 5 for a tested story, 3 for one without tests and refactoring."""
    return 3 if story.kind in UNTESTED_KINDS else 5


def needs_person(alarms: Iterable[Alarm]) -> bool:
    weights = [alarm.weight for alarm in alarms]
    return "critical" in weights or len(weights) >= WARNING_ALARMS_TO_STOP


def describe_alarms(alarms: Iterable[Alarm]) -> str:
    """Return the alarms on one line, each with its story."""
    return "; ".join(f"`{clean_line(alarm.story)}`: {alarm.text}" for alarm in alarms)
