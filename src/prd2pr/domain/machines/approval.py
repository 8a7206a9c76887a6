"""Approval of stories. An approval is valid only for the plan for which it was given."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Literal

from prd2pr.domain.records import SETTLED, Approval, Backlog, Prd, ProjectState, Sprint, Status, Story

# "given" means that calling the program is the approval. The others are values of `approval:` in the settings.
ApprovalMode = Literal["given", "plan", "story", "none"]
STARTED_SPRINT_STATES = (ProjectState.SPRINT_ACTIVE, ProjectState.SPRINT_PAUSED, ProjectState.BLOCKED)


def compute_plan_digest(prd: Prd, stories: Iterable[Story]) -> str:
    """Return a digest of the PRD and the stories, independent of their order, status and priority.

    Fields with default values are left out, so that a field added by a later version does not revoke approvals.
    """
    fixed = {"status": "backlog", "priority": 3, "issue": None}
    dumps = sorted(story.model_copy(update=fixed).model_dump_json(exclude_defaults=True) for story in stories)
    return hashlib.sha256("\n".join((prd.blob, *dumps)).encode()).hexdigest()


def create_approval(prd: Prd, backlog: Backlog, stories: tuple[str, ...], *, by: str, at: str, head: str) -> Approval:
    """Create an approval for `stories`, or for all stories of the plan if `stories` is empty."""
    plan = compute_plan_digest(prd, (story for story in backlog.stories if not stories or story.id in stories))
    return Approval(by=by, at=at, head=head, stories=stories, plan=plan)


def list_covered_stories(approval: Approval, prd: Prd, backlog: Backlog) -> frozenset[str]:
    """Return the stories that the approval covers, or none if they have changed since."""
    covered = [story for story in backlog.stories if not approval.stories or story.id in approval.stories]
    if compute_plan_digest(prd, covered) != approval.plan:
        return frozenset()
    return frozenset(story.id for story in covered)


def list_approved_stories(mode: ApprovalMode, status: Status, prd: Prd, backlog: Backlog) -> frozenset[str] | None:
    """Return the approved stories, or None if no approval is needed.

    Stories that are about to be dropped always need a person's approval.
    """
    if mode == "given" or (mode == "none" and not backlog.dropping):
        return None
    if mode == "none":
        return frozenset(story.id for story in backlog.stories).difference(backlog.dropping)
    covered = (list_covered_stories(approval, prd, backlog) for approval in status.approvals)
    return frozenset().union(*covered).difference(backlog.dropping)


def carry_over_approvals(
    approvals: tuple[Approval, ...], prd: Prd, before: Backlog, after: Backlog
) -> tuple[Approval, ...]:
    """Keep the approvals of the other stories after a command added or removed stories."""
    kept = []
    for approval in approvals:
        covered = list_covered_stories(approval, prd, before)
        stories = tuple(story.id for story in after.stories if story.id in covered)
        if stories:
            kept.append(create_approval(prd, after, stories, by=approval.by, at=approval.at, head=approval.head))
    return tuple(kept)


def limit_to_chosen_sprint(
    approved: frozenset[str] | None, sprint: Sprint | None, state: ProjectState
) -> frozenset[str] | None:
    """Leave out stories that a person did not choose for the current sprint. None means all stories."""
    if sprint is None or not sprint.chosen or state not in STARTED_SPRINT_STATES:
        return approved
    chosen = frozenset(sprint.stories)
    return chosen if approved is None else approved & chosen


def is_chosen_sprint_done(sprint: Sprint, backlog: Backlog) -> bool:
    stories = {story.id: story.status for story in backlog.stories}
    return sprint.chosen and all(stories.get(name, "skipped") in SETTLED for name in sprint.stories)


def list_unapproved_stories(backlog: Backlog, approved: frozenset[str] | None) -> tuple[Story, ...]:
    """Return the stories that are neither settled nor approved."""
    if approved is None:
        return ()
    return tuple(each for each in backlog.stories if each.status not in SETTLED and each.id not in approved)


def suggest_approve_command(mode: ApprovalMode, backlog: Backlog, approved: frozenset[str] | None) -> str:
    """Return an `/approve` command that is valid now: its stories depend on no story that it leaves out."""
    waiting = [story for story in backlog.stories if story.status not in SETTLED]
    wanted = {story.id for story in waiting if story.status != "blocked" and story.id not in backlog.dropping}
    single = find_next_to_approve(backlog, approved)
    if mode == "story" and single:
        return f"/approve {single}"
    whole = keep_self_contained(backlog, wanted, backlog.dropping)
    if whole == wanted and (wanted or backlog.dropping):
        return "/approve"
    named = keep_self_contained(backlog, wanted) or keep_self_contained(backlog, {story.id for story in waiting})
    return " ".join(("/approve", *(story.id for story in waiting if story.id in named)))


def find_next_to_approve(backlog: Backlog, approved: frozenset[str] | None) -> str:
    """Return the first story that can be approved on its own, or an empty string."""
    waiting = [story.id for story in list_unapproved_stories(backlog, approved) if story.status != "blocked"]
    return next((name for name in waiting if name not in backlog.dropping and keep_self_contained(backlog, {name})), "")


def keep_self_contained(backlog: Backlog, wanted: set[str], dropped: Iterable[str] = ()) -> set[str]:
    """Return the largest subset of `wanted` whose stories depend only on each other and on settled stories."""
    known = {story.id for story in backlog.stories}
    settled = {story.id for story in backlog.stories if story.status in SETTLED}.union(dropped)
    needs = {
        story.id: known.intersection(story.depends_on) - settled for story in backlog.stories if story.id in wanted
    }
    kept = set(wanted)
    while lacking := {name for name in kept if not needs[name] <= kept}:
        kept -= lacking
    return kept
