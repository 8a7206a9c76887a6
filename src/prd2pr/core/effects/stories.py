"""Decisions about one story's cycle: none leads past a gate."""

from __future__ import annotations

from prd2pr.core.advance import settled
from prd2pr.core.cycle_machine import NO_CYCLE, check_cycle, move, pass_untested
from prd2pr.core.decision import Decision
from prd2pr.core.effects.records import (
    Effect,
    Left,
    Objection,
    moved,
    noted,
    through_the_machine,
    unknown_stories,
    with_statuses,
)
from prd2pr.core.found import Found
from prd2pr.core.records import (
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
)
from prd2pr.core.refusal import Refusal


def start(found: Found, decision: Decision) -> Effect:
    """Of a story that has no cycle, or a finished one. Starting it by hand takes it into the sprint."""
    story = found.story(decision.story)
    if story is None:
        return unknown_stories(found, decision.stories) or Objection("name a story", "/tdd start STORY")
    cycle = found.cycle(story.id)
    after = move(cycle.state if cycle else None, decision.command)
    if isinstance(after, Refusal):
        return after
    if found.status.state is not ProjectState.SPRINT_ACTIVE:
        return Objection("no sprint is active, so no cycle can be started")
    done = {each.id for each in found.backlog.stories if each.status in SETTLED}
    missing = [name for name in story.depends_on if name not in done and found.story(name)]
    if missing:
        return Objection(f"{story.id} depends on {', '.join(missing)}, which is not done")
    sprint = found.sprint
    if sprint and story.id not in sprint.stories:
        sprint = sprint.model_copy(update={"stories": (*sprint.stories, story.id)})
    return Left(
        noted(found.status, decision, cycle.state if cycle else NO_CYCLE, CycleState.DESIGN),
        with_statuses(found.backlog, {story.id: "sprint"}),
        {story.id: fresh_cycle(cycle) if cycle else Cycle(story=story.id)},
        sprint if sprint is not found.sprint else None,
        about=story.id,
    )


def fresh_cycle(cycle: Cycle) -> Cycle:
    """From the beginning; the steps behind it stay on record, and the next ones are numbered after them."""
    return Cycle(
        story=cycle.story,
        steps=cycle.steps,
        refused=cycle.refused,
        refused_writes=cycle.refused_writes,
    )


def abort(found: Found, decision: Decision) -> Effect:
    """Given up, on record. It counts as blocked until it is started anew or left out, and the order to go on ends."""
    cycle = allowed(found, decision)
    if not isinstance(cycle, Cycle):
        return cycle
    after = given_up(cycle)
    return Left(
        noted(found.status, decision, cycle.state, after.state).model_copy(update={"order": "", "order_story": ""}),
        with_statuses(found.backlog, {cycle.story: "blocked"}),
        {cycle.story: after},
        about=cycle.story,
        removed=unproven_tests(cycle),
    )


def given_up(cycle: Cycle) -> Cycle:
    gone = unproven_tests(cycle)
    return cycle.model_copy(
        update={
            "state": CycleState.ABORTED,
            "paused": False,
            "blocked": "",
            "test_files": () if gone else cycle.test_files,
            "tests": () if gone else cycle.tests,
        }
    )


def unproven_tests(cycle: Cycle) -> tuple[str, ...]:
    """Tests that nobody will make pass any more: left on the branch they would fail for everybody else."""
    return tuple(file.path for file in cycle.test_files if file.status in ("draft", "committed"))


def skip_phase(found: Found, decision: Decision) -> Effect:
    cycle = allowed(found, decision)
    if not isinstance(cycle, Cycle):
        return cycle
    after: CycleState | Refusal | None = move(cycle.state, decision.command)
    story = found.story(cycle.story)
    if cycle.state is CycleState.DESIGN and story is not None and story.kind in UNTESTED_KINDS:
        after = pass_untested(cycle.state, story.kind, f"kind {story.kind}: no tests asked for")
    if isinstance(after, Refusal):
        return after
    note = REFACTORING_SKIPPED if cycle.state is CycleState.REFACTOR else DESIGN_SKIPPED
    return Left(
        noted(found.status, decision, cycle.state, after or cycle.state),
        with_statuses(found.backlog, {cycle.story: "in_progress"}),
        {cycle.story: cycle.model_copy(update={"state": after})},
        about=cycle.story,
        note=note,
    )


def retry(found: Found, decision: Decision) -> Effect:
    """Fresh attempts: this commit is what they are counted from."""
    cycle = allowed(found, decision)
    if not isinstance(cycle, Cycle):
        return cycle
    status: Status | Refusal = noted(found.status, decision, cycle.state, cycle.state)
    if found.status.state is ProjectState.BLOCKED and cycle.blocked:
        status = moved(found.status, decision, "suggest_fix")
    if isinstance(status, Refusal):
        return status
    cleared = {"blocked_reason": ""} if cycle.blocked else {}
    return Left(
        status.model_copy(update=cleared),
        under_way_again(found.backlog, cycle),
        {cycle.story: cycle.model_copy(update={"blocked": ""})},
        about=cycle.story,
    )


def under_way_again(backlog: Backlog, cycle: Cycle) -> Backlog:
    story = next(each for each in backlog.stories if each.id == cycle.story)
    return with_statuses(backlog, {story.id: "in_progress"}) if story.status == "blocked" else backlog


def pause(found: Found, decision: Decision) -> Effect:
    return set_paused(found, decision, paused=True)


def resume(found: Found, decision: Decision) -> Effect:
    """Without a story, what `/tdd halt_all` stopped goes on."""
    if not decision.stories and found.status.halted:
        status = noted(found.status, decision, found.status.state, found.status.state)
        return Left(status.model_copy(update={"halted": False}), found.backlog)
    return set_paused(found, decision, paused=False)


def set_paused(found: Found, decision: Decision, *, paused: bool) -> Effect:
    cycle = allowed(found, decision)
    if not isinstance(cycle, Cycle):
        return cycle
    if cycle.paused is paused:
        return Objection(f"{cycle.story} is {'paused already' if paused else 'not paused'}")
    return Left(
        noted(found.status, decision, cycle.state, cycle.state),
        found.backlog,
        {cycle.story: cycle.model_copy(update={"paused": paused})},
        about=cycle.story,
    )


def halt_all(found: Found, decision: Decision) -> Effect:
    if found.status.halted:
        return Objection("all stories are halted already", "/tdd resume")
    status = noted(found.status, decision, found.status.state, found.status.state)
    return Left(status.model_copy(update={"halted": True}), found.backlog)


def run(found: Found, decision: Decision) -> Effect:
    """The order to go on, with one story or with all; what comes of it, the gates decide."""
    current = current_story(found.backlog)
    meant = decision if decision.stories or current is None else decision.model_copy(update={"stories": (current.id,)})
    cycle = allowed(found, meant)
    if not isinstance(cycle, Cycle):
        return cycle
    status = noted(found.status, decision, cycle.state, cycle.state)
    return Left(status.model_copy(update={"order": "run", "order_story": decision.story}), found.backlog)


def current_story(backlog: Backlog) -> Story | None:
    """What a command is about that names no story: the one under way, else the next that can be."""
    done = {story.id for story in backlog.stories if story.status in SETTLED}
    rank = {"in_progress": 0, "blocked": 1, "sprint": 2}
    free = [story for story in backlog.stories if story.id not in done and done.issuperset(story.depends_on)]
    return min(free, key=lambda story: rank.get(story.status, 3), default=None)


# --- a story that is blocked ------------------------------------------------------------------------------------------


@through_the_machine
def suggest_fix(found: Found, decision: Decision, status: Status) -> Effect:
    """The advice reaches the next attempt. Where CI was what blocked, no story has to be freed."""
    status = status.model_copy(update={"advice": decision.text, "advice_story": decision.story, "blocked_reason": ""})
    cycle = found.cycle(decision.story) if decision.story else None
    if cycle is None:
        return unknown_stories(found, decision.stories) or Left(status, found.backlog)
    if not cycle.blocked:
        return Objection(f"{cycle.story} is not blocked")
    free = cycle.model_copy(update={"blocked": ""})
    return Left(status, under_way_again(found.backlog, cycle), {cycle.story: free}, about=cycle.story)


STATUS_WORDS = {"sprint": "in the sprint", "backlog": "in the backlog", "in_progress": "in progress"}


@through_the_machine
def skip_task(found: Found, decision: Decision, status: Status) -> Effect:
    """A story that failed or was given up is left out, on record; where no other is left, the sprint is reviewed."""
    story = found.story(decision.story)
    if story is None:
        return unknown_stories(found, decision.stories) or Objection("no story is blocked")
    if story.status != "blocked":
        return Objection(f"{story.id} is not blocked: it is {STATUS_WORDS.get(story.status, story.status)}")
    backlog = with_statuses(found.backlog, {story.id: "skipped"})
    cycle = found.cycle(story.id)
    status = settled(status.model_copy(update={"blocked_reason": ""}), backlog, at=decision.at)
    if cycle is None:
        return Left(status, backlog)
    return Left(status, backlog, {cycle.story: given_up(cycle)}, about=cycle.story, removed=unproven_tests(cycle))


# --- legality ---------------------------------------------------------------------------------------------------------


def allowed(found: Found, decision: Decision) -> Cycle | Refusal | Objection:
    """The cycle that a command may be given for."""
    if not decision.stories:
        return Objection("there is no story that this could be about", "/tdd overview")
    unknown = unknown_stories(found, decision.stories)
    if unknown:
        return unknown
    cycle = cycle_of(found, decision.story)
    known = check_cycle(cycle.state if cycle else None, decision.command)
    if isinstance(known, Refusal):
        return known
    return cycle or Cycle(story=decision.story)


def cycle_of(found: Found, story: str) -> Cycle | None:
    """In an active sprint that was planned and started in one go, a story's cycle begins with its first step."""
    cycle = found.cycle(story)
    if cycle is None and found.sprint and story in found.sprint.stories and found.status.state in STARTED:
        return Cycle(story=story)
    return cycle


STARTED = (ProjectState.SPRINT_ACTIVE, ProjectState.SPRINT_PAUSED, ProjectState.BLOCKED)
