"""Which stories may cost money. An approval holds for the plan that it was given for, and for no other."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Literal

from prd2pr.core.records import SETTLED, Approval, Backlog, Prd, Status, Story

# `given`: whoever calls the program approves by calling it. The others are `approval:` of the configuration.
ApprovalMode = Literal["given", "plan", "story", "none"]


def plan_digest(prd: Prd, stories: Iterable[Story]) -> str:
    """Of what will be built, not of how far it is or in which order it comes.

    Without defaults, so that a field which a later version adds does not undo what was approved.
    """
    fixed = {"status": "backlog", "priority": 3, "issue": None}
    told = sorted(story.model_copy(update=fixed).model_dump_json(exclude_defaults=True) for story in stories)
    return hashlib.sha256("\n".join((prd.blob, *told)).encode()).hexdigest()


def given(prd: Prd, backlog: Backlog, stories: tuple[str, ...], *, by: str, at: str, head: str) -> Approval:
    """`stories` empty: all that the plan has."""
    plan = plan_digest(prd, (story for story in backlog.stories if not stories or story.id in stories))
    return Approval(by=by, at=at, head=head, stories=stories, plan=plan)


def holds_for(approval: Approval, prd: Prd, backlog: Backlog) -> frozenset[str]:
    """The stories that it lets go ahead; none, where they are not those that were approved."""
    meant = [story for story in backlog.stories if not approval.stories or story.id in approval.stories]
    if plan_digest(prd, meant) != approval.plan:
        return frozenset()
    return frozenset(story.id for story in meant)


def approved_stories(mode: ApprovalMode, status: Status, prd: Prd, backlog: Backlog) -> frozenset[str] | None:
    """None: nothing has to be approved. What is gone from the PRD waits for a person, whatever the mode."""
    if mode == "given" or (mode == "none" and not backlog.dropping):
        return None
    if mode == "none":
        return frozenset(story.id for story in backlog.stories).difference(backlog.dropping)
    held = (holds_for(approval, prd, backlog) for approval in status.approvals)
    return frozenset().union(*held).difference(backlog.dropping)


def rebound(approvals: tuple[Approval, ...], prd: Prd, before: Backlog, after: Backlog) -> tuple[Approval, ...]:
    """A person has added or removed stories by a command: for the others, what was approved stays approved."""
    kept = []
    for approval in approvals:
        there = holds_for(approval, prd, before)
        stories = tuple(story.id for story in after.stories if story.id in there)
        if stories:
            kept.append(given(prd, after, stories, by=approval.by, at=approval.at, head=approval.head))
    return tuple(kept)


def pending(backlog: Backlog, approved: frozenset[str] | None) -> tuple[Story, ...]:
    """What is neither settled nor approved."""
    if approved is None:
        return ()
    return tuple(each for each in backlog.stories if each.status not in SETTLED and each.id not in approved)


def approving_command(mode: ApprovalMode, backlog: Backlog, approved: frozenset[str] | None) -> str:
    """What a person writes next, and what is accepted as it stands: nothing in it needs what is left out."""
    waiting = [story for story in backlog.stories if story.status not in SETTLED]
    wanted = {story.id for story in waiting if story.status != "blocked" and story.id not in backlog.dropping}
    single = next_to_approve(backlog, approved)
    if mode == "story" and single:
        return f"/approve {single}"
    whole = complete(backlog, wanted, backlog.dropping)
    if whole == wanted and (wanted or backlog.dropping):
        return "/approve"
    named = complete(backlog, wanted) or complete(backlog, {story.id for story in waiting})
    return " ".join(("/approve", *(story.id for story in waiting if story.id in named)))


def next_to_approve(backlog: Backlog, approved: frozenset[str] | None) -> str:
    """The first story that can be approved by itself."""
    waiting = [story.id for story in pending(backlog, approved) if story.status != "blocked"]
    return next((name for name in waiting if name not in backlog.dropping and complete(backlog, {name})), "")


def complete(backlog: Backlog, wanted: set[str], dropped: Iterable[str] = ()) -> set[str]:
    """The most of it that depends on nothing but itself and what is settled."""
    known = {story.id for story in backlog.stories}
    settled = {story.id for story in backlog.stories if story.status in SETTLED}.union(dropped)
    needs = {
        story.id: known.intersection(story.depends_on) - settled for story in backlog.stories if story.id in wanted
    }
    kept = set(wanted)
    while lacking := {name for name in kept if not needs[name] <= kept}:
        kept -= lacking
    return kept
