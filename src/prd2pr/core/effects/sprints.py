"""Approval and the sprint: what is to be built, and when work on it may go on."""

from __future__ import annotations

from dataclasses import replace

from prd2pr.core.advance import settled
from prd2pr.core.approval import given
from prd2pr.core.decision import BOT, Decision
from prd2pr.core.effects.records import (
    Effect,
    Left,
    Objection,
    happened,
    moved,
    through_the_machine,
    unknown_stories,
    with_statuses,
)
from prd2pr.core.effects.stories import fresh_cycle
from prd2pr.core.found import Found
from prd2pr.core.records import SETTLED, Backlog, Cycle, CycleState, Sprint, Status, Story, StoryStatus
from prd2pr.core.refusal import Refusal
from prd2pr.core.replan import dropped_by_approval

APPROVAL_ROAD = ("approve", "sprint plan", "sprint start")


def approve(found: Found, decision: Decision) -> Effect:
    """The stories become a sprint that is active at once; the order to go on stands, unless one phase is asked for."""
    status: Status | Refusal = found.status
    for command in APPROVAL_ROAD:
        status = moved(status, decision, command) if isinstance(status, Status) else status
    if isinstance(status, Refusal):
        return status
    if decision.by != BOT:  # what is gone from the PRD is dropped by a person's word alone
        before, found = found, replace(found, backlog=dropped_by_approval(found.backlog, decision.stories))
        if found.backlog != before.backlog and not chosen_stories(found, decision):
            return Left(settled(status, found.backlog, at=decision.at), found.backlog)
    objection = unsuitable(found, decision)
    if objection:
        return objection
    approval = given(found.prd, found.backlog, decision.stories, by=decision.by, at=decision.at, head=decision.head)
    order = "" if decision.one_by_one else "run"
    status = status.model_copy(update={"approvals": (*status.approvals, approval), "order": order, "order_story": ""})
    return started(found, status, new_sprint(found, decision), decision)


@through_the_machine
def plan_sprint(found: Found, decision: Decision, status: Status) -> Effect:
    objection = unsuitable(found, decision)
    if objection:
        return objection
    sprint = new_sprint(found, decision)
    backlog = taken_up(found.backlog, sprint.stories)
    return Left(status.model_copy(update={"sprint": sprint.id}), backlog, sprint=sprint)


@through_the_machine
def start_sprint(found: Found, decision: Decision, status: Status) -> Effect:
    """Whoever starts a sprint approves its stories by that."""
    if found.sprint is None:
        return Objection("the sprint has no record")
    approval = given(found.prd, found.backlog, found.sprint.stories, by=decision.by, at=decision.at, head=decision.head)
    status = status.model_copy(update={"approvals": (*status.approvals, approval)})
    return started(found, status, found.sprint, decision)


def pause_sprint(found: Found, decision: Decision) -> Effect:
    return set_sprint(found, decision, "paused")


def resume_sprint(found: Found, decision: Decision) -> Effect:
    return set_sprint(found, decision, "active")


def set_sprint(found: Found, decision: Decision, sprint_status: str) -> Effect:
    status = moved(found.status, decision)
    if isinstance(status, Refusal):
        return status
    sprint = found.sprint.model_copy(update={"status": sprint_status}) if found.sprint else None
    return Left(status, found.backlog, sprint=sprint)


def wait_for_approval(found: Found, decision: Decision) -> Effect:
    """An event: nothing that is approved is left to do, and other stories are."""
    status = happened(found.status, decision)
    if isinstance(status, Refusal):
        return status
    return Left(status, found.backlog, sprint=ended(found.sprint, decision.at))


def block_for_ci(found: Found, decision: Decision) -> Effect:
    status = happened(found.status, decision)
    if isinstance(status, Refusal):
        return status
    return Left(status.model_copy(update={"blocked_reason": decision.text}), found.backlog)


# --- what a sprint consists of ----------------------------------------------------------------------------------------


def unsuitable(found: Found, decision: Decision) -> Objection | None:
    unknown = unknown_stories(found, decision.stories)
    if unknown:
        return unknown
    chosen = {story.id for story in chosen_stories(found, decision)}
    if not chosen:
        return Objection("no story is left to be worked on", '/backlog add_story "…"')
    status = {story.id: story.status for story in found.backlog.stories}
    for name in decision.stories:
        if status[name] in SETTLED:
            return Objection(f"{name} is {status[name]} already", "/tdd overview")
    for story in found.backlog.stories:
        missing = [n for n in story.depends_on if n in status and status[n] not in SETTLED and n not in chosen]
        if story.id in chosen and missing:
            needed = " ".join(sorted(with_needs(found, chosen)))
            return Objection(
                f"{story.id} depends on {', '.join(missing)}, which is neither done nor among them",
                f"/{decision.command} {needed}",
            )
    return None


def with_needs(found: Found, chosen: set[str]) -> set[str]:
    """And all that they depend on, at any remove."""
    needs = {each.id: set(each.depends_on) for each in found.backlog.stories if each.status not in SETTLED}
    whole = set(chosen)
    while more := {name for each in whole for name in needs[each] if name in needs} - whole:
        whole |= more
    return whole


def chosen_stories(found: Found, decision: Decision) -> tuple[Story, ...]:
    """Those that are named, else all that are not settled, not given up and not waiting to be dropped."""
    if decision.stories:
        return tuple(story for story in found.backlog.stories if story.id in decision.stories)
    left = (story for story in found.backlog.stories if story.status not in (*SETTLED, "blocked"))
    return tuple(story for story in left if story.id not in found.backlog.dropping)


def new_sprint(found: Found, decision: Decision) -> Sprint:
    number = int((found.status.sprint or "s0").removeprefix("s")) + 1
    stories = tuple(story.id for story in chosen_stories(found, decision))
    return Sprint(id=f"s{number}", goal=found.prd.title, stories=stories)


def taken_up(backlog: Backlog, stories: tuple[str, ...]) -> Backlog:
    """A story that is under way stays so."""
    changes: dict[str, StoryStatus] = {
        story.id: "sprint"
        for story in backlog.stories
        if story.id in stories and story.status in ("backlog", "blocked")
    }
    return with_statuses(backlog, changes)


def started(found: Found, status: Status, sprint: Sprint, decision: Decision) -> Left:
    """Each story has its cycle from now on."""
    active = sprint.model_copy(update={"status": "active", "started_at": decision.at})
    cycles = {name: cycle for name in sprint.stories if (cycle := cycle_to_begin(found, name)) is not None}
    status = status.model_copy(update={"sprint": sprint.id})
    return Left(status, taken_up(found.backlog, sprint.stories), cycles, active)


def cycle_to_begin(found: Found, story: str) -> Cycle | None:
    cycle = found.cycle(story)
    if cycle is None:
        return Cycle(story=story)
    return fresh_cycle(cycle) if cycle.state is CycleState.ABORTED else None


def ended(sprint: Sprint | None, at: str) -> Sprint | None:
    return sprint.model_copy(update={"status": "completed", "ended_at": at}) if sprint else None
