"""The next phase of a story, derived from its steps."""

from __future__ import annotations

from prd2pr.domain.machines.next_phase import find_next_phase
from prd2pr.domain.records import Cycle, CycleState, Phase, Step, Story

STORY = Story(id="calc-1", epic="", title="Add")


def cycle(*steps: tuple[Phase, int]) -> Cycle:
    made = tuple(
        Step(n=n, phase=phase, at="2026-05-04T10:20:30Z", code_tree="0" * 40, evidence="", undoes=undoes)
        for n, (phase, undoes) in enumerate(steps, start=1)
    )
    return Cycle(story="calc-1", state=CycleState.REFACTOR, steps=made)


def test_refactoring_is_requested_once():
    assert find_next_phase(STORY, cycle((Phase.GREEN, 0))) is Phase.REFACTOR
    assert find_next_phase(STORY, cycle((Phase.GREEN, 0), (Phase.REFACTOR, 0))) is Phase.INTEGRATED
    assert find_next_phase(STORY, cycle((Phase.GREEN, 0), (Phase.REFACTOR, 0), (Phase.NOTE, 0))) is Phase.INTEGRATED


def test_undone_refactoring_is_requested_again():
    undone = cycle((Phase.GREEN, 0), (Phase.REFACTOR, 0), (Phase.NOTE, 0), (Phase.NOTE, 2))
    assert find_next_phase(STORY, undone) is Phase.REFACTOR
    again = cycle((Phase.GREEN, 0), (Phase.REFACTOR, 0), (Phase.NOTE, 2), (Phase.REFACTOR, 0))
    assert find_next_phase(STORY, again) is Phase.INTEGRATED
