"""The next phase of a story, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from prd2pr.domain.machines.story_transitions import drop_undone_steps
from prd2pr.domain.records import (
    NO_REFACTORING,
    UNTESTED_KINDS,
    Cycle,
    CycleState,
    Phase,
    Step,
    Story,
)

ActionOutcome = Literal["done", "waiting", "paused", "blocked", "budget", "stopped", "nothing", "deadline", "handed-on"]


@dataclass(frozen=True)
class NoAction:
    """A result without a next step: the reason, and the command that would change it."""

    outcome: ActionOutcome
    reason: str
    next: str = ""


STATE_PHASES = {
    CycleState.DESIGN: Phase.DESIGN,
    CycleState.TEST_RED: Phase.RED,
    CycleState.CODE_GREEN: Phase.GREEN,
}


def find_next_phase(story: Story, cycle: Cycle | None) -> Phase | NoAction:
    if cycle is None:
        return Phase.DESIGN
    if cycle.paused:
        return NoAction("paused", f"{story.id} is paused", f"/tdd resume {story.id}")
    if cycle.state is CycleState.COMMIT:
        return NoAction("done", f"{story.id} is integrated")
    if cycle.state is CycleState.ABORTED:
        return NoAction("stopped", f"{story.id} was aborted")
    return STATE_PHASES.get(cycle.state) or choose_phase_after_green(story, cycle)


def choose_phase_after_green(story: Story, cycle: Cycle) -> Phase:
    """Return REFACTOR once for tested code that the story wrote, otherwise INTEGRATED."""
    handled = any(
        step.phase is Phase.REFACTOR or step.note.startswith(NO_REFACTORING) for step in list_steps_since_green(cycle)
    )
    nothing_new = story.kind in UNTESTED_KINDS or cycle.pre_implemented
    return Phase.INTEGRATED if handled or nothing_new else Phase.REFACTOR


def find_no_refactoring_note(cycle: Cycle) -> str:
    """Return the note that a story on its own branch was not refactored, or an empty string."""
    notes = (step.note for step in list_steps_since_green(cycle) if step.phase is Phase.NOTE)
    return next((note for note in notes if note.startswith(NO_REFACTORING)), "")


def list_steps_since_green(cycle: Cycle) -> tuple[Step, ...]:
    """Return the steps after the last GREEN, ignoring undone ones."""
    steps = drop_undone_steps(cycle.steps)
    greens = [n for n, step in enumerate(steps) if step.phase is Phase.GREEN]
    return steps[greens[-1] + 1 :] if greens else steps
