"""Money that led to no step. It is put on record all the same, or the next run would not know of it."""

from __future__ import annotations

from prd2pr.core.decision import Decision
from prd2pr.core.effects.records import Effect, Left, Objection
from prd2pr.core.found import Found

SPENT = "spent without a step"


def keep_account(found: Found, decision: Decision) -> Effect:
    """No record changes but the run's, and the steps of the story that it was spent on, which get this note."""
    if not decision.story:
        return Left(found.status, found.backlog)
    cycle = found.cycle(decision.story)
    if cycle is None or not cycle.steps:
        return Objection(f"{decision.story} was never begun, so its record keeps no account")
    return Left(found.status, found.backlog, {cycle.story: cycle}, about=cycle.story)
