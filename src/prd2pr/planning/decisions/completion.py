"""Complete a PRD: its records are left to the history of the branch, and a summary stays in the tree."""

from __future__ import annotations

from prd2pr.domain.decision import Decision
from prd2pr.domain.machines.branch_records import BranchRecords
from prd2pr.domain.records import SETTLED, ProjectState
from prd2pr.planning.decisions.records import DecisionEffect, DecisionOutcome, Objection

COMPLETED = "the PRD is complete"
ENDED_STATES = (ProjectState.SPRINT_REVIEW, ProjectState.IDLE)


def complete_prd(found: BranchRecords, _decision: Decision) -> DecisionEffect:
    """Keep only the last transition of the status. All other records stay in the history."""
    if not found.backlog.stories or any(story.status not in SETTLED for story in found.backlog.stories):
        return Objection("not all stories are finished")
    if found.status.state not in ENDED_STATES:
        return Objection("the sprint is not over")
    status = found.status.model_copy(update={"transitions": found.status.transitions[-1:]})
    return DecisionOutcome(status, found.backlog)
