"""What to do next: a pure function of what the branch says, or the reason why there is nothing to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from prd2pr.core.deeds import standing_steps
from prd2pr.core.records import (
    REFACTORING_SKIPPED,
    SETTLED,
    UNTESTED_KINDS,
    Backlog,
    Cycle,
    CycleState,
    Phase,
    ProjectState,
    Status,
    Step,
    Story,
)

Outcome = Literal["done", "waiting", "paused", "blocked", "budget", "stopped", "nothing", "deadline"]


@dataclass(frozen=True)
class Rest:
    """Nothing to do now: why, and what would change that."""

    outcome: Outcome
    reason: str
    next: str = ""


@dataclass(frozen=True)
class Leave:
    """What may be worked on besides what the plan says."""

    approved: frozenset[str] | None = None  # None: nothing has to be approved
    paused: frozenset[str] = frozenset()

    def has(self, story: Story) -> bool:
        return self.approved is None or story.id in self.approved


FREE = Leave()


def next_story(status: Status, backlog: Backlog, prd_path: str, only: str = "", leave: Leave = FREE) -> Story | Rest:
    """The story to work on: one that is under way, else the first whose dependencies are done."""
    if status.halted:
        return Rest("paused", "all stories are halted", "/tdd resume")
    if status.state is ProjectState.SPRINT_PAUSED:
        return Rest("paused", "the sprint is paused", "/sprint resume")
    if only:
        story = named_story(backlog, only)
        return story if isinstance(story, Rest) or leave.has(story) else unapproved(story)
    if status.state is ProjectState.BLOCKED:
        return Rest("blocked", status.blocked_reason or "a story is out of attempts", retry_command(backlog, prd_path))
    return first_ready(status, backlog, prd_path, leave)


def first_ready(status: Status, backlog: Backlog, prd_path: str, leave: Leave) -> Story | Rest:
    """A paused story lets others go before it."""
    settled = {story.id for story in backlog.stories if story.status in SETTLED}
    open_stories = [story for story in backlog.stories if story.id not in settled]
    if not open_stories:
        return Rest("done", f"all {len(backlog.stories)} stories are settled")
    if not any(leave.has(story) for story in open_stories):
        return Rest("waiting", waits_for_approval(status, open_stories), "/approve")
    free = [story for story in open_stories if story.status != "blocked" and settled.issuperset(story.depends_on)]
    ready = sorted(filter(leave.has, free), key=lambda story: story.status != "in_progress")
    going = [story for story in ready if story.id not in leave.paused]
    if going:
        return going[0]
    if ready:
        return Rest("paused", f"{', '.join(story.id for story in ready)} is paused", f"/tdd resume {ready[0].id}")
    if free:
        return unapproved(free[0])
    return Rest("waiting", "the stories that are left wait for a blocked one", retry_command(backlog, prd_path))


def unapproved(story: Story) -> Rest:
    return Rest("waiting", f"{story.id} is not approved", f"/approve {story.id}")


def waits_for_approval(status: Status, stories: list[Story]) -> str:
    count = f"{len(stories)} {'story' if len(stories) == 1 else 'stories'}"
    changed = ": this is not what was approved before" if status.approvals else ""
    return f"{count} {'waits' if len(stories) == 1 else 'wait'} for approval{changed}"


def named_story(backlog: Backlog, only: str) -> Story | Rest:
    by_id = {story.id: story for story in backlog.stories}
    if only not in by_id:
        return Rest("nothing", f"there is no story {only}; there are {', '.join(by_id)}")
    story = by_id[only]
    if story.status in SETTLED:
        return Rest("done", f"{only} is {story.status}")
    missing = [key for key in story.depends_on if key in by_id and by_id[key].status not in SETTLED]
    if missing:
        return Rest("waiting", f"{only} waits for {', '.join(missing)}")
    return story


def retry_command(backlog: Backlog, prd_path: str) -> str:
    blocked = [story.id for story in backlog.stories if story.status == "blocked"]
    return f"prd2pr run {prd_path} --story {blocked[0]}" if blocked else ""


PHASE_IN = {
    CycleState.DESIGN: Phase.DESIGN,
    CycleState.TEST_RED: Phase.RED,
    CycleState.CODE_GREEN: Phase.GREEN,
}


def next_phase(story: Story, cycle: Cycle | None) -> Phase | Rest:
    if cycle is None:
        return Phase.DESIGN
    if cycle.paused:
        return Rest("paused", f"{story.id} is paused", "/tdd resume")
    if cycle.state is CycleState.COMMIT:
        return Rest("done", f"{story.id} is integrated")
    if cycle.state is CycleState.ABORTED:
        return Rest("stopped", f"the cycle of {story.id} was aborted", f"prd2pr run --story {story.id}")
    return PHASE_IN.get(cycle.state) or after_green(story, cycle)


def after_green(story: Story, cycle: Cycle) -> Phase:
    """Refactoring is asked for once, and of code that this story wrote under tests: others go straight on."""
    asked = any(
        step.phase is Phase.REFACTOR or step.note.startswith(REFACTORING_SKIPPED) for step in since_green(cycle)
    )
    nothing_new = story.kind in UNTESTED_KINDS or cycle.pre_implemented
    return Phase.INTEGRATED if asked or nothing_new else Phase.REFACTOR


def since_green(cycle: Cycle) -> tuple[Step, ...]:
    """Notes in between, as of a pause, change nothing about what was asked for; what was undone is asked for again."""
    steps = standing_steps(cycle.steps)
    greens = [n for n, step in enumerate(steps) if step.phase is Phase.GREEN]
    return steps[greens[-1] + 1 :] if greens else steps
