"""Which phase of a story comes next, or why none does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from prd2pr.core.deeds import standing_steps
from prd2pr.core.records import (
    NO_REFACTORING,
    UNTESTED_KINDS,
    Cycle,
    CycleState,
    Phase,
    Step,
    Story,
)

Outcome = Literal["done", "waiting", "paused", "blocked", "budget", "stopped", "nothing", "deadline", "handed-on"]


@dataclass(frozen=True)
class Rest:
    """Nothing to do now: why, and what would change that."""

    outcome: Outcome
    reason: str
    next: str = ""


PHASE_IN = {
    CycleState.DESIGN: Phase.DESIGN,
    CycleState.TEST_RED: Phase.RED,
    CycleState.CODE_GREEN: Phase.GREEN,
}


def next_phase(story: Story, cycle: Cycle | None) -> Phase | Rest:
    if cycle is None:
        return Phase.DESIGN
    if cycle.paused:
        return Rest("paused", f"{story.id} is paused", f"/tdd resume {story.id}")
    if cycle.state is CycleState.COMMIT:
        return Rest("done", f"{story.id} is integrated")
    if cycle.state is CycleState.ABORTED:
        return Rest("stopped", f"{story.id} was given up")
    return PHASE_IN.get(cycle.state) or after_green(story, cycle)


def after_green(story: Story, cycle: Cycle) -> Phase:
    """Refactoring is asked for once, and of code that this story wrote under tests: others go straight on."""
    asked = any(step.phase is Phase.REFACTOR or step.note.startswith(NO_REFACTORING) for step in since_green(cycle))
    nothing_new = story.kind in UNTESTED_KINDS or cycle.pre_implemented
    return Phase.INTEGRATED if asked or nothing_new else Phase.REFACTOR


def without_refactoring(cycle: Cycle) -> str:
    """The note by which a story on its own branch said that no refactoring comes; empty: it did not."""
    said = (step.note for step in since_green(cycle) if step.phase is Phase.NOTE)
    return next((note for note in said if note.startswith(NO_REFACTORING)), "")


def since_green(cycle: Cycle) -> tuple[Step, ...]:
    """Notes in between, as of a pause, change nothing about what was asked for; what was undone is asked for again."""
    steps = standing_steps(cycle.steps)
    greens = [n for n, step in enumerate(steps) if step.phase is Phase.GREEN]
    return steps[greens[-1] + 1 :] if greens else steps
