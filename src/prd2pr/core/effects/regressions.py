"""A finished story whose tests fail again: a bug story is added, openly, and comes first."""

from __future__ import annotations

from prd2pr.core.continuity import first_in_order, menders, mends
from prd2pr.core.decision import Decision
from prd2pr.core.effects.backlogs import bound_again, with_added
from prd2pr.core.effects.records import Effect, Left, Objection
from prd2pr.core.found import Found
from prd2pr.core.records import SETTLED

REGRESSED = "a finished story fails"


def add_mending(found: Found, decision: Decision) -> Effect:
    """What is approved stays approved; the new story is not, unless nobody wants to be asked."""
    broken = found.story(decision.story)
    if broken is None or broken.status != "done":
        return Objection(f"{decision.story} is not finished")
    if any(story.status not in SETTLED for story in menders(found.backlog, broken.id)):
        return Objection(f"a story that mends {broken.id} is there already")
    backlog = with_added(found, decision)
    if isinstance(backlog, Objection):
        return backlog
    (added, *others) = decision.added
    if others or not mends(added, broken.id) or added.depends_on:
        return Objection(f"one story of kind bug mends {broken.id}, and waits for nothing")
    backlog = first_in_order(backlog, added.id)
    sprint = found.sprint
    if sprint is not None and sprint.status != "completed":
        sprint = sprint.model_copy(update={"stories": (*sprint.stories, added.id)})
    changed = sprint if sprint is not found.sprint else None
    return Left(bound_again(found, found.status, backlog), backlog, sprint=changed)
