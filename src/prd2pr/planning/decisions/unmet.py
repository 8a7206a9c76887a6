"""Move criteria that the existing code does not meet to a story that builds them."""

from __future__ import annotations

from dataclasses import replace

from prd2pr.domain.decision import Decision
from prd2pr.domain.machines.branch_records import BranchRecords
from prd2pr.domain.records import SETTLED
from prd2pr.planning.decisions.backlog import append_new_stories, rebind_approvals
from prd2pr.planning.decisions.records import DecisionEffect, DecisionOutcome, Objection
from prd2pr.planning.plan_diff import verifies_existing_code
from prd2pr.planning.unmet_requirements import move_after, move_unmet_criteria

UNMET = "requirements are not met"


def split_unmet_story(found: BranchRecords, decision: Decision) -> DecisionEffect:
    """Move the criteria of the added story from the story that only verifies. Existing approvals stay valid."""
    verified = found.find_story(decision.story)
    if verified is None or verified.status in SETTLED or not verifies_existing_code(verified):
        return Objection(f"{decision.story} is no open story that verifies existing code")
    if len(decision.added) != 1:
        return Objection("exactly one story builds what is not met")
    (added,) = decision.added
    moved = move_unmet_criteria(found.prd, found.backlog, verified, added)
    if moved is None:
        return Objection(f"{added.id} has other criteria than {verified.id} had")
    backlog = append_new_stories(replace(found, backlog=moved), decision)
    if isinstance(backlog, Objection):
        return backlog
    backlog = move_after(backlog, added.id, verified.id)
    sprint = found.sprint
    if sprint is not None and sprint.status != "completed":
        sprint = sprint.model_copy(update={"stories": (*sprint.stories, added.id)})
    changed = sprint if sprint is not found.sprint else None
    return DecisionOutcome(rebind_approvals(found, found.status, backlog), backlog, sprint=changed)
