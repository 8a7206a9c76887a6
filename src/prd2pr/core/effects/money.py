"""Money that led to no step. It is put on record all the same, or the next run would not know of it."""

from __future__ import annotations

from prd2pr.core.decision import Decision
from prd2pr.core.effects.records import Effect, Left, Objection
from prd2pr.core.found import Found
from prd2pr.core.records import Cycle, Phase, RefusedAttempt

SPENT = "spent without a step"
OUT_OF_BUDGET = "it stopped for its budget"  # in such a note


def keep_account(found: Found, decision: Decision) -> Effect:
    """No record changes but the run's, and the steps of the story that it was spent on, which get this note."""
    if not decision.story:
        return Left(found.status, found.backlog)
    cycle = found.cycle(decision.story)
    if cycle is None or not cycle.steps:
        return Objection(f"{decision.story} was never begun, so its record keeps no account")
    return Left(found.status, found.backlog, {cycle.story: cycle}, about=cycle.story)


def stopped_for_budget(cycle: Cycle) -> bool:
    """Whether that is the last that happened to the story."""
    last = cycle.steps[-1] if cycle.steps else None
    return last is not None and last.note.startswith(SPENT) and OUT_OF_BUDGET in last.note


def refused_before(cycle: Cycle, phase: Phase) -> tuple[RefusedAttempt, ...]:
    """Attempts at a phase by runs that ended in the midst of it: their last account has put them on record.

    Any other step since then begins to count anew: a person has decided, or pushed something.
    """
    last = cycle.steps[-1] if cycle.steps else None
    if last is None or last.phase is not Phase.NOTE or not last.note.startswith(SPENT):
        return ()
    made: list[RefusedAttempt] = []
    for each in reversed(cycle.refused):
        if each.phase is not phase or each.attempt < 1:
            break
        made.append(each)
        if each.attempt == 1:
            break
    return tuple(reversed(made))
