"""Record spending that led to no step, so that the next run includes it."""

from __future__ import annotations

from prd2pr.domain.costs.budget import OUT_OF_BUDGET_NOTE, SPENT_NOTE
from prd2pr.domain.decision import Decision
from prd2pr.domain.machines.branch_records import BranchRecords
from prd2pr.domain.records import Cycle, Phase, RefusedAttempt
from prd2pr.planning.decisions.records import DecisionEffect, DecisionOutcome, Objection


def note_spending(found: BranchRecords, decision: Decision) -> DecisionEffect:
    """Record spending in the run, and in a note among the steps of the story for which it was spent."""
    if not decision.story:
        return DecisionOutcome(found.status, found.backlog)
    cycle = found.cycle(decision.story)
    if cycle is None or not cycle.steps:
        return Objection(f"{decision.story} has not started, so its spending cannot be recorded")
    return DecisionOutcome(found.status, found.backlog, {cycle.story: cycle}, about=cycle.story)


def is_stopped_for_budget(cycle: Cycle) -> bool:
    """Return whether the story's last step records that the budget ran out."""
    last = cycle.steps[-1] if cycle.steps else None
    return last is not None and last.note.startswith(SPENT_NOTE) and OUT_OF_BUDGET_NOTE in last.note


def list_unfinished_attempts(cycle: Cycle, phase: Phase) -> tuple[RefusedAttempt, ...]:
    """Return the refused attempts at a phase by runs that ended before the phase passed.

    Any other step since then restarts the count, since a person decided or pushed something.
    """
    last = cycle.steps[-1] if cycle.steps else None
    if last is None or last.phase is not Phase.NOTE or not last.note.startswith(SPENT_NOTE):
        return ()
    attempts: list[RefusedAttempt] = []
    for each in reversed(cycle.refused):
        if each.phase is not phase or each.attempt < 1:
            break
        attempts.append(each)
        if each.attempt == 1:
            break
    return tuple(reversed(attempts))
