"""Decisions about one story's cycle. None of them can skip a gate."""

from __future__ import annotations

from prd2pr.domain.decision import Decision
from prd2pr.domain.machines.approval import STARTED_SPRINT_STATES
from prd2pr.domain.machines.branch_records import BranchRecords
from prd2pr.domain.machines.phase_transitions import finish_if_settled
from prd2pr.domain.machines.refusal import CommandRefusal
from prd2pr.domain.machines.story_machine import NO_CYCLE, apply_cycle_command, check_cycle_command, pass_untested
from prd2pr.domain.records import (
    DESIGN_SKIPPED,
    REFACTORING_SKIPPED,
    SETTLED,
    UNTESTED_KINDS,
    Backlog,
    Cycle,
    CycleState,
    ProjectState,
    Status,
    Story,
    format_untested_note,
)
from prd2pr.planning.decisions.records import (
    DecisionEffect,
    DecisionOutcome,
    Objection,
    object_to_unknown_stories,
    record_decision,
    record_project_command,
    set_story_statuses,
    with_project_transition,
)


def start_story(found: BranchRecords, decision: Decision) -> DecisionEffect:
    """Apply `/tdd start` to a story without a cycle or with a finished one, and add it to the sprint."""
    story = found.find_story(decision.story)
    if story is None:
        return object_to_unknown_stories(found, decision.stories) or Objection("name a story", "/tdd start STORY")
    cycle = found.cycle(story.id)
    after = apply_cycle_command(cycle.state if cycle else None, decision.command)
    if isinstance(after, CommandRefusal):
        return after
    if found.status.state is not ProjectState.SPRINT_ACTIVE:
        return Objection("no sprint is active, so no cycle can be started")
    done = {each.id for each in found.backlog.stories if each.status in SETTLED}
    missing = [name for name in story.depends_on if name not in done and found.find_story(name)]
    if missing:
        return Objection(f"{story.id} depends on {', '.join(missing)}, which is not done")
    sprint = found.sprint
    if sprint and story.id not in sprint.stories:
        sprint = sprint.model_copy(update={"stories": (*sprint.stories, story.id)})
    return DecisionOutcome(
        record_decision(found.status, decision, cycle.state if cycle else NO_CYCLE, CycleState.DESIGN),
        set_story_statuses(found.backlog, {story.id: "sprint"}),
        {story.id: restart_cycle(cycle) if cycle else Cycle(story=story.id)},
        sprint if sprint is not found.sprint else None,
        about=story.id,
    )


def restart_cycle(cycle: Cycle) -> Cycle:
    """Return a new cycle that keeps the recorded steps. New steps are numbered after them."""
    return Cycle(
        story=cycle.story,
        steps=cycle.steps,
        refused=cycle.refused,
        refused_writes=cycle.refused_writes,
    )


def abort_story(found: BranchRecords, decision: Decision) -> DecisionEffect:
    """Apply `/tdd abort`: block the story until it is started again or skipped, and end the pending `/tdd run`."""
    cycle = find_allowed_cycle(found, decision)
    if not isinstance(cycle, Cycle):
        return cycle
    after = abort_cycle(cycle)
    return DecisionOutcome(
        record_decision(found.status, decision, cycle.state, after.state).model_copy(
            update={"order": "", "order_story": ""}
        ),
        set_story_statuses(found.backlog, {cycle.story: "blocked"}),
        {cycle.story: after},
        about=cycle.story,
        removed=list_unproven_tests(cycle),
    )


def abort_cycle(cycle: Cycle) -> Cycle:
    gone = list_unproven_tests(cycle)
    return cycle.model_copy(
        update={
            "state": CycleState.ABORTED,
            "paused": False,
            "blocked": "",
            "test_files": () if gone else cycle.test_files,
            "tests": () if gone else cycle.tests,
            "coverage": {} if gone else cycle.coverage,
        }
    )


def list_unproven_tests(cycle: Cycle) -> tuple[str, ...]:
    """Return the story's test files whose code is not written yet. They would fail for everyone on the branch."""
    return tuple(file.path for file in cycle.test_files if file.status in ("draft", "committed"))


def skip_phase(found: BranchRecords, decision: Decision) -> DecisionEffect:
    cycle = find_allowed_cycle(found, decision)
    if not isinstance(cycle, Cycle):
        return cycle
    after: CycleState | CommandRefusal | None = apply_cycle_command(cycle.state, decision.command)
    story = found.find_story(cycle.story)
    if cycle.state is CycleState.DESIGN and story is not None and story.kind in UNTESTED_KINDS:
        after = pass_untested(cycle.state, story.kind, format_untested_note(story.kind))
    if isinstance(after, CommandRefusal):
        return after
    note = REFACTORING_SKIPPED if cycle.state is CycleState.REFACTOR else DESIGN_SKIPPED
    return DecisionOutcome(
        record_decision(found.status, decision, cycle.state, after or cycle.state),
        set_story_statuses(found.backlog, {cycle.story: "in_progress"}),
        {cycle.story: cycle.model_copy(update={"state": after})},
        about=cycle.story,
        note=note,
    )


def retry_cycle(found: BranchRecords, decision: Decision) -> DecisionEffect:
    """Apply `/tdd retry`: reset the number of attempts, counting from this commit."""
    cycle = find_allowed_cycle(found, decision)
    if not isinstance(cycle, Cycle):
        return cycle
    status: Status | CommandRefusal = record_decision(found.status, decision, cycle.state, cycle.state)
    if found.status.state is ProjectState.BLOCKED and cycle.blocked:
        status = record_project_command(found.status, decision, "suggest_fix")
    if isinstance(status, CommandRefusal):
        return status
    cleared = {"blocked_reason": ""} if cycle.blocked else {}
    return DecisionOutcome(
        status.model_copy(update=cleared),
        resume_blocked_story(found.backlog, cycle),
        {cycle.story: cycle.model_copy(update={"blocked": ""})},
        about=cycle.story,
    )


def resume_blocked_story(backlog: Backlog, cycle: Cycle) -> Backlog:
    story = next(each for each in backlog.stories if each.id == cycle.story)
    return set_story_statuses(backlog, {story.id: "in_progress"}) if story.status == "blocked" else backlog


def resume_story(found: BranchRecords, decision: Decision) -> DecisionEffect:
    """Apply `/tdd resume`. Without a story, it ends `/tdd halt_all`."""
    if not decision.stories and found.status.halted:
        status = record_decision(found.status, decision, found.status.state, found.status.state)
        return DecisionOutcome(status.model_copy(update={"halted": False}), found.backlog)
    return set_paused(found, decision, paused=False)


def set_paused(found: BranchRecords, decision: Decision, *, paused: bool) -> DecisionEffect:
    cycle = find_allowed_cycle(found, decision)
    if not isinstance(cycle, Cycle):
        return cycle
    if cycle.paused is paused:
        return Objection(f"{cycle.story} is {'already paused' if paused else 'not paused'}")
    return DecisionOutcome(
        record_decision(found.status, decision, cycle.state, cycle.state),
        found.backlog,
        {cycle.story: cycle.model_copy(update={"paused": paused})},
        about=cycle.story,
    )


def halt_all(found: BranchRecords, decision: Decision) -> DecisionEffect:
    if found.status.halted:
        return Objection("all stories are already halted", "/tdd resume")
    status = record_decision(found.status, decision, found.status.state, found.status.state)
    return DecisionOutcome(status.model_copy(update={"halted": True}), found.backlog)


def request_run(found: BranchRecords, decision: Decision) -> DecisionEffect:
    """Apply `/tdd run`: keep working on one story or on all stories."""
    current = find_current_story(found.backlog)
    meant = decision if decision.stories or current is None else decision.model_copy(update={"stories": (current.id,)})
    cycle = find_allowed_cycle(found, meant)
    if not isinstance(cycle, Cycle):
        return cycle
    status = record_decision(found.status, decision, cycle.state, cycle.state)
    return DecisionOutcome(status.model_copy(update={"order": "run", "order_story": decision.story}), found.backlog)


def find_current_story(backlog: Backlog) -> Story | None:
    """Return the story that a command without a story refers to: the one in progress, or else the next possible one."""
    done = {story.id for story in backlog.stories if story.status in SETTLED}
    rank = {"in_progress": 0, "blocked": 1, "sprint": 2}
    free = [story for story in backlog.stories if story.id not in done and done.issuperset(story.depends_on)]
    return min(free, key=lambda story: rank.get(story.status, 3), default=None)


# --- blocked stories --------------------------------------------------------------------------------------------------


@with_project_transition
def suggest_fix(found: BranchRecords, decision: Decision, status: Status) -> DecisionEffect:
    """Apply `/suggest_fix`: pass the advice to the next attempt, and unblock the story if it is blocked."""
    status = status.model_copy(update={"advice": decision.text, "advice_story": decision.story, "blocked_reason": ""})
    cycle = found.cycle(decision.story) if decision.story else None
    if cycle is None:
        return object_to_unknown_stories(found, decision.stories) or DecisionOutcome(status, found.backlog)
    if not cycle.blocked:
        return Objection(f"{cycle.story} is not blocked")
    free = cycle.model_copy(update={"blocked": ""})
    return DecisionOutcome(status, resume_blocked_story(found.backlog, cycle), {cycle.story: free}, about=cycle.story)


STATUS_WORDS = {"sprint": "in the sprint", "backlog": "in the backlog", "in_progress": "in progress"}


@with_project_transition
def skip_task(found: BranchRecords, decision: Decision, status: Status) -> DecisionEffect:
    """Apply `/skip_task` to a blocked story. If it was the last open one, the sprint is ready for review."""
    story = found.find_story(decision.story)
    if story is None:
        return object_to_unknown_stories(found, decision.stories) or Objection("no story is blocked")
    if story.status != "blocked":
        return Objection(f"{story.id} is not blocked: it is {STATUS_WORDS.get(story.status, story.status)}")
    backlog = set_story_statuses(found.backlog, {story.id: "skipped"})
    cycle = found.cycle(story.id)
    status = finish_if_settled(status.model_copy(update={"blocked_reason": ""}), backlog, at=decision.at)
    if cycle is None:
        return DecisionOutcome(status, backlog)
    return DecisionOutcome(
        status, backlog, {cycle.story: abort_cycle(cycle)}, about=cycle.story, removed=list_unproven_tests(cycle)
    )


# --- allowed commands -------------------------------------------------------------------------------------------------


def find_allowed_cycle(found: BranchRecords, decision: Decision) -> Cycle | CommandRefusal | Objection:
    """Return the story's cycle if the command is allowed for it, or why it is not."""
    if not decision.stories:
        return Objection("no story was given, and none is open", "/tdd overview")
    unknown = object_to_unknown_stories(found, decision.stories)
    if unknown:
        return unknown
    cycle = find_or_create_cycle(found, decision.story)
    known = check_cycle_command(cycle.state if cycle else None, decision.command)
    if isinstance(known, CommandRefusal):
        return known
    return cycle or Cycle(story=decision.story)


def find_or_create_cycle(found: BranchRecords, story: str) -> Cycle | None:
    """Return the story's cycle, or a new one for a story of a started sprint."""
    cycle = found.cycle(story)
    if cycle is None and found.sprint and story in found.sprint.stories and found.status.state in STARTED_SPRINT_STATES:
        return Cycle(story=story)
    return cycle
