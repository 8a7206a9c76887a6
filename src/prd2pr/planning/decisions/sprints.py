"""Decisions about approvals and sprints: which stories are built, and whether work continues."""

from __future__ import annotations

from dataclasses import replace

from prd2pr.domain.decision import BOT, Decision
from prd2pr.domain.machines.approval import create_approval
from prd2pr.domain.machines.branch_records import BranchRecords
from prd2pr.domain.machines.phase_transitions import finish_if_settled
from prd2pr.domain.machines.refusal import CommandRefusal
from prd2pr.domain.records import SETTLED, Backlog, Cycle, CycleState, Sprint, Status, Story, StoryStatus
from prd2pr.planning.decisions.records import (
    DecisionEffect,
    DecisionOutcome,
    Objection,
    object_to_unknown_stories,
    record_project_command,
    record_project_event,
    set_story_statuses,
    with_project_transition,
)
from prd2pr.planning.decisions.stories import restart_cycle
from prd2pr.planning.plan_diff import drop_approved_removals

SPRINT_DONE = "sprint done"
APPROVAL_COMMANDS = ("approve", "sprint plan", "sprint start")


def approve_stories(found: BranchRecords, decision: Decision) -> DecisionEffect:
    """Apply `/approve`: start a sprint with the stories, and request a run unless `one_by_one` is set."""
    status: Status | CommandRefusal = found.status
    for command in APPROVAL_COMMANDS:
        status = record_project_command(status, decision, command) if isinstance(status, Status) else status
    if isinstance(status, CommandRefusal):
        return status
    if decision.by != BOT:  # only a person may drop the stories of removed requirements
        before, found = found, replace(found, backlog=drop_approved_removals(found.backlog, decision.stories))
        if found.backlog != before.backlog and not select_sprint_stories(found, decision):
            return DecisionOutcome(finish_if_settled(status, found.backlog, at=decision.at), found.backlog)
    objection = find_sprint_objection(found, decision)
    if objection:
        return objection
    approval = create_approval(
        found.prd, found.backlog, decision.stories, by=decision.by, at=decision.at, head=decision.head
    )
    order = "" if decision.one_by_one else "run"
    status = status.model_copy(update={"approvals": (*status.approvals, approval), "order": order, "order_story": ""})
    return activate_sprint(found, status, build_sprint(found, decision), decision)


@with_project_transition
def plan_sprint(found: BranchRecords, decision: Decision, status: Status) -> DecisionEffect:
    objection = find_sprint_objection(found, decision)
    if objection:
        return objection
    sprint = build_sprint(found, decision).model_copy(update={"chosen": bool(decision.stories)})
    backlog = mark_in_sprint(found.backlog, sprint.stories)
    return DecisionOutcome(status.model_copy(update={"sprint": sprint.id}), backlog, sprint=sprint)


@with_project_transition
def start_sprint(found: BranchRecords, decision: Decision, status: Status) -> DecisionEffect:
    """Apply `/sprint start`, which also approves the sprint's stories."""
    if found.sprint is None:
        return Objection("no sprint is planned", "/sprint plan")
    approval = create_approval(
        found.prd, found.backlog, found.sprint.stories, by=decision.by, at=decision.at, head=decision.head
    )
    status = status.model_copy(update={"approvals": (*status.approvals, approval)})
    return activate_sprint(found, status, found.sprint, decision)


def set_sprint_status(found: BranchRecords, decision: Decision, sprint_status: str) -> DecisionEffect:
    status = record_project_command(found.status, decision)
    if isinstance(status, CommandRefusal):
        return status
    sprint = found.sprint.model_copy(update={"status": sprint_status}) if found.sprint else None
    # The last open story may have been finished or removed during the pause.
    return DecisionOutcome(finish_if_settled(status, found.backlog, at=decision.at), found.backlog, sprint=sprint)


def wait_for_approval(found: BranchRecords, decision: Decision) -> DecisionEffect:
    """Apply the event that all approved stories are settled while others are still open."""
    status = record_project_event(found.status, decision)
    if isinstance(status, CommandRefusal):
        return status
    return DecisionOutcome(status, found.backlog, sprint=complete_sprint(found.sprint, decision.at))


def block_after_ci_failures(found: BranchRecords, decision: Decision) -> DecisionEffect:
    status = record_project_event(found.status, decision)
    if isinstance(status, CommandRefusal):
        return status
    return DecisionOutcome(status.model_copy(update={"blocked_reason": decision.text}), found.backlog)


# --- contents of a sprint ---------------------------------------------------------------------------------------------


def find_sprint_objection(found: BranchRecords, decision: Decision) -> Objection | None:
    unknown = object_to_unknown_stories(found, decision.stories)
    if unknown:
        return unknown
    chosen = {story.id for story in select_sprint_stories(found, decision)}
    if not chosen:
        return Objection("no open story is left", '/backlog add_story "…"')
    status = {story.id: story.status for story in found.backlog.stories}
    for name in decision.stories:
        if status[name] in SETTLED:
            return Objection(f"{name} is already {status[name]}", "/tdd overview")
    for story in found.backlog.stories:
        missing = [n for n in story.depends_on if n in status and status[n] not in SETTLED and n not in chosen]
        if story.id in chosen and missing:
            needed = " ".join(sorted(add_dependencies(found, chosen)))
            return Objection(
                f"{story.id} depends on {', '.join(missing)}, which is neither done nor included",
                f"/{decision.command} {needed}",
            )
    return None


def add_dependencies(found: BranchRecords, chosen: set[str]) -> set[str]:
    """Add all open stories that the chosen ones depend on, directly or indirectly."""
    needs = {each.id: set(each.depends_on) for each in found.backlog.stories if each.status not in SETTLED}
    whole = set(chosen)
    while more := {name for each in whole for name in needs[each] if name in needs} - whole:
        whole |= more
    return whole


def select_sprint_stories(found: BranchRecords, decision: Decision) -> tuple[Story, ...]:
    """Return the named stories, or all that are neither settled, blocked nor about to be dropped."""
    if decision.stories:
        return tuple(story for story in found.backlog.stories if story.id in decision.stories)
    unsettled = (story for story in found.backlog.stories if story.status not in (*SETTLED, "blocked"))
    return tuple(story for story in unsettled if story.id not in found.backlog.dropping)


def build_sprint(found: BranchRecords, decision: Decision) -> Sprint:
    number = int((found.status.sprint or "s0").removeprefix("s")) + 1
    stories = tuple(story.id for story in select_sprint_stories(found, decision))
    return Sprint(id=f"s{number}", goal=found.prd.title, stories=stories)


def mark_in_sprint(backlog: Backlog, stories: tuple[str, ...]) -> Backlog:
    """Set the status of stories in the backlog or blocked to `sprint`. A story in progress keeps its status."""
    changes: dict[str, StoryStatus] = {
        story.id: "sprint"
        for story in backlog.stories
        if story.id in stories and story.status in ("backlog", "blocked")
    }
    return set_story_statuses(backlog, changes)


def activate_sprint(found: BranchRecords, status: Status, sprint: Sprint, decision: Decision) -> DecisionOutcome:
    """Activate the sprint and create a cycle for each of its stories."""
    active = sprint.model_copy(update={"status": "active", "started_at": decision.at})
    cycles = {name: cycle for name in sprint.stories if (cycle := build_initial_cycle(found, name)) is not None}
    status = status.model_copy(update={"sprint": sprint.id})
    return DecisionOutcome(status, mark_in_sprint(found.backlog, sprint.stories), cycles, active)


def build_initial_cycle(found: BranchRecords, story: str) -> Cycle | None:
    cycle = found.cycle(story)
    if cycle is None:
        return Cycle(story=story)
    return restart_cycle(cycle) if cycle.state is CycleState.ABORTED else None


def complete_sprint(sprint: Sprint | None, at: str) -> Sprint | None:
    return sprint.model_copy(update={"status": "completed", "ended_at": at}) if sprint else None
