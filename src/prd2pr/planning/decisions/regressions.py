"""Add a bug story for a finished story whose tests fail again."""

from __future__ import annotations

from prd2pr.domain.decision import Decision
from prd2pr.domain.machines.branch_records import BranchRecords
from prd2pr.domain.records import SETTLED
from prd2pr.planning.decisions.backlog import append_new_stories, rebind_approvals
from prd2pr.planning.decisions.records import DecisionEffect, DecisionOutcome, Objection
from prd2pr.planning.regression_rules import is_fix_for, list_fix_stories, move_before_unstarted

REGRESSED = "a finished story fails"


def add_fix_story(found: BranchRecords, decision: Decision) -> DecisionEffect:
    """Add the bug story before all stories that are not started. Existing approvals stay valid."""
    broken = found.find_story(decision.story)
    if broken is None or broken.status != "done":
        return Objection(f"{decision.story} is not finished")
    if any(story.status not in SETTLED for story in list_fix_stories(found.backlog, broken.id)):
        return Objection(f"a bug story for {broken.id} already exists")
    backlog = append_new_stories(found, decision)
    if isinstance(backlog, Objection):
        return backlog
    (added, *others) = decision.added
    if others or not is_fix_for(added, broken.id) or added.depends_on:
        return Objection(f"exactly one story of kind bug without dependencies may fix {broken.id}")
    backlog = move_before_unstarted(backlog, added.id)
    sprint = found.sprint
    if sprint is not None and sprint.status != "completed":
        sprint = sprint.model_copy(update={"stories": (*sprint.stories, added.id)})
    changed = sprint if sprint is not found.sprint else None
    return DecisionOutcome(rebind_approvals(found, found.status, backlog), backlog, sprint=changed)
