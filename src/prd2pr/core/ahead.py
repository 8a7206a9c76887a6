"""What is next: the one answer that the loop follows, and that every page, comment and answer tells.

A command that is named here is one that would be accepted now.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from prd2pr.core.approval import ApprovalMode, approved_stories, approving_command, holds_for, pending
from prd2pr.core.decide import Rest, next_phase
from prd2pr.core.found import Found
from prd2pr.core.records import SETTLED, Cycle, CycleState, Phase, ProjectState, Status, Story

NO_SPRINT = (ProjectState.IDLE, ProjectState.BACKLOG_READY, ProjectState.SPRINT_PLANNED)
SUGGEST = '/suggest_fix "what to try"'


@dataclass(frozen=True)
class Due:
    """The phase that can be worked on now."""

    story: Story
    phase: Phase
    draft: bool = False  # work for it is on the branch, and no gate has judged it


Ahead = Due | Rest


def untouched(_: Cycle) -> str:
    return ""


def unhindered(_: Story, __: Phase) -> Rest | None:
    return None


@dataclass(frozen=True)
class Outlook:
    """What the answer follows from: the records, and what was seen besides them."""

    found: Found
    mode: ApprovalMode = "given"
    only: str = ""  # the story that is asked about; empty: whichever is next
    touched: Callable[[Cycle], str] = untouched  # a locked test of the story that somebody has changed
    gone: Rest | None = None  # the PRD was deleted, cannot be read or planned as it is now
    held: Callable[[Story, Phase], Rest | None] = unhindered  # a circuit that is open, an alarm that a person answers
    risk: str = ""  # what a person has to be asked about before anything of the plan is built

    @property
    def local(self) -> bool:
        """Who calls the program is at a terminal; everybody else writes comments."""
        return self.mode == "given"

    @cached_property
    def approved(self) -> frozenset[str] | None:
        return approved_stories(self.mode, self.found.status, self.found.prd, self.found.backlog)

    @cached_property
    def settled(self) -> frozenset[str]:
        return frozenset(story.id for story in self.found.backlog.stories if story.status in SETTLED)

    @cached_property
    def left(self) -> tuple[Story, ...]:
        return tuple(story for story in self.found.backlog.stories if story.status not in SETTLED)

    @cached_property
    def free(self) -> tuple[Story, ...]:
        """Nothing but approval or a pause could keep these from being worked on."""
        return tuple(filter(self._is_free, self.left))

    def ready(self) -> Iterator[Story]:
        """Those that are free and approved, one by one: what is under way comes first."""
        for story in self.left:
            if story.status == "in_progress" and self._is_free(story) and self.may(story):
                yield story
        for story in self.left:
            if story.status != "in_progress" and self._is_free(story) and self.may(story):
                yield story

    def _is_free(self, story: Story) -> bool:
        return story.status != "blocked" and self._has_what_it_needs(story)

    def _has_what_it_needs(self, story: Story) -> bool:
        return not story.depends_on or self.settled.issuperset(self.needs(story))

    @cached_property
    def known(self) -> frozenset[str]:
        return frozenset(story.id for story in self.found.backlog.stories)

    def needs(self, story: Story) -> tuple[str, ...]:
        return tuple(name for name in story.depends_on if name in self.known)

    def may(self, story: Story) -> bool:
        return self.approved is None or story.id in self.approved


def order_story(status: Status, mode: ApprovalMode) -> str:
    """The one story that an order to go on is about. Where the project is blocked, a person decides first.

    Who calls the program gives an order of his own.
    """
    stands = status.order == "run" and status.state is ProjectState.SPRINT_ACTIVE and mode != "given"
    return status.order_story if stands else ""


def ahead(view: Outlook) -> Ahead:
    story = story_ahead(view)
    return story if isinstance(story, Rest) else phase_ahead(view, story)


def story_ahead(view: Outlook) -> Story | Rest:
    """The story to work on: one that is under way, else the first whose dependencies are done."""
    stopped = view.gone or nothing_left(view) or stopped_by_people(view)
    if stopped is not None:
        return stopped
    if view.only:
        return named(view)
    status = view.found.status
    if status.state is ProjectState.BLOCKED:
        return Rest("blocked", status.blocked_reason or "a story is out of attempts", unblocking(view))
    return first_ready(view)


def nothing_left(view: Outlook) -> Rest | None:
    stories = view.found.backlog.stories
    if not stories:
        return Rest("nothing", "there are no stories yet", run_command(view))
    if view.left or view.only:
        return None
    return Rest("done", "the one story is settled" if len(stories) == 1 else f"all {len(stories)} stories are settled")


def stopped_by_people(view: Outlook) -> Rest | None:
    """A pause, or a word that nobody has said yet."""
    status = view.found.status
    if status.halted:
        return Rest("paused", "all stories are halted", "/tdd resume")
    if status.state is ProjectState.SPRINT_PAUSED:
        return Rest("paused", "the sprint is paused", "/sprint resume")
    return asking(view) if view.left and waits_for_a_person(view) else None


def phase_ahead(view: Outlook, story: Story) -> Ahead:
    cycle = view.found.cycle(story.id)
    phase = next_phase(story, cycle)
    if isinstance(phase, Rest):
        return replace(phase, next=freeing(view, story)) if phase.outcome == "stopped" else phase
    if cycle is not None and (path := view.touched(cycle)):
        reason = f"`{path}` is not as RED committed it: somebody has changed it. Put it back in a commit of its own"
        return Rest("waiting", reason, next_command(view))
    held = view.held(story, phase)
    if held is not None:
        return held
    return Due(story, phase, draft=bool(cycle and cycle.steps and cycle.steps[-1].draft))


# --- approval ---------------------------------------------------------------------------------------------------------


def waits_for_a_person(view: Outlook) -> bool:
    """Whether no sprint is begun, and none begins by itself."""
    state = view.found.status.state
    if view.risk and state is ProjectState.BACKLOG_READY:
        return True
    if state not in NO_SPRINT or view.mode == "given":
        return False
    if view.mode == "none":
        return state is ProjectState.IDLE or (state is ProjectState.BACKLOG_READY and approval_is_due(view))
    return True


def approval_is_due(view: Outlook) -> bool:
    """Nothing that is approved can go on, and something else could: then, and not before, it is asked for."""
    if not pending(view.found.backlog, view.approved):
        return False
    if not any(view.may(story) for story in view.left):
        return True
    return bool(view.free) and not any(view.may(story) for story in view.free)


def asking(view: Outlook) -> Rest:
    status = view.found.status
    if status.state is ProjectState.IDLE:
        return Rest("waiting", "the last sprint is closed, and the backlog has stories left", '/epic "what is next"')
    if status.state is ProjectState.SPRINT_PLANNED:
        return Rest("waiting", "the sprint is planned, and nobody has started it", "/sprint start")
    changed = ": this is not what was approved before" if approval_outdated(view) else ""
    command = approving_command(view.mode, view.found.backlog, view.approved)
    if view.risk:
        return Rest("waiting", view.risk, run_command(view) if view.local else command)
    return Rest("waiting", f"{what_waits(view)}{changed}", command)


def approval_outdated(view: Outlook) -> bool:
    """Something that waits was approved once, and is not what it was then."""
    found = view.found
    waiting = {story.id for story in pending(found.backlog, view.approved)}
    return any(
        not holds_for(given, found.prd, found.backlog) and (not given.stories or waiting.intersection(given.stories))
        for given in found.status.approvals
    )


def what_waits(view: Outlook) -> str:
    """What approval would drop does not wait to be built."""
    unapproved = pending(view.found.backlog, view.approved) or view.left
    dropping = sum(story.id in view.found.backlog.dropping for story in unapproved)
    building = len(unapproved) - dropping
    waits = "1 story waits for approval" if building == 1 else f"{building} stories wait for approval"
    if not dropping:
        return waits
    if not building:
        return f"{'1 story waits' if dropping == 1 else f'{dropping} stories wait'} for approval to be dropped"
    return f"{waits}, and {dropping} to be dropped"


# --- which story ------------------------------------------------------------------------------------------------------


def first_ready(view: Outlook) -> Story | Rest:
    """A paused story lets others go before it. Cycles are read one by one: there may be thousands."""
    going = next((story for story in view.ready() if not is_paused(view, story)), None)
    if going is not None:
        return going
    if ready := tuple(view.ready()):
        names = ", ".join(story.id for story in ready)
        return Rest("paused", f"{names} {'is' if len(ready) == 1 else 'are'} paused", f"/tdd resume {ready[0].id}")
    if approval_is_due(view):
        return asking(view)
    return waits_for_blocked(view)


def waits_for_blocked(view: Outlook) -> Rest:
    stuck = next((story for story in view.left if story.status == "blocked"), view.left[0])
    others = ", and what is left waits for it" if len(view.left) > 1 else ""
    if not is_given_up(view, stuck):
        return Rest("waiting", f"{stuck.id} is blocked{others}", freeing(view, stuck))
    if view.local or view.found.status.state is not ProjectState.SPRINT_ACTIVE:
        return Rest("waiting", f"{stuck.id} was given up{others}", freeing(view, stuck))
    anew = f"`{freeing(view, stuck)}` begins it anew, `{leaving_out(stuck)}` leaves it out for good"
    return Rest("waiting", f"{stuck.id} was given up{others}; {anew}", leaving_out(stuck))


def is_given_up(view: Outlook, story: Story) -> bool:
    cycle = view.found.cycle(story.id)
    return cycle is not None and cycle.state is CycleState.ABORTED


def is_paused(view: Outlook, story: Story) -> bool:
    cycle = view.found.cycle(story.id)
    return cycle is not None and cycle.paused


def named(view: Outlook) -> Story | Rest:
    """A blocked story that is asked for by its name is tried again."""
    story = view.found.story(view.only)
    if story is None:
        names = ", ".join(each.id for each in view.found.backlog.stories)
        return Rest("nothing", f"there is no story {view.only}; there are {names}", instead(view))
    if story.status in SETTLED:
        return Rest("done", f"{story.id} is {story.status}", instead(view))
    missing = [name for name in view.needs(story) if name not in view.settled]
    if missing:
        return Rest("waiting", f"{story.id} waits for {', '.join(missing)}", instead(view))
    if not view.may(story):
        reason = f"{story.id} is not approved, and what is approved comes first"
        return Rest("waiting", reason, instead(view))
    return story


# --- the command that helps -------------------------------------------------------------------------------------------


def instead(view: Outlook) -> str:
    """What can be done, where the story that was named cannot be worked on."""
    found = ahead(replace(view, only=""))
    return next_command(replace(view, only="")) if isinstance(found, Due) else found.next


def next_command(view: Outlook) -> str:
    return f"prd2pr next {path_of(view)}" if view.local else "/tdd next"


def run_command(view: Outlook) -> str:
    return f"prd2pr run {path_of(view)}" if view.local else "/tdd run"


def resetting(path: str, *, local: bool) -> str:
    """Closes every circuit that trouble has opened."""
    return f"prd2pr reset {shlex.quote(path)}" if local else "/tdd reset"


def path_of(view: Outlook) -> str:
    return shlex.quote(view.found.prd.path)


def unblocking(view: Outlook) -> str:
    """Of a project that is blocked, by a story or by CI."""
    if not view.local:
        return SUGGEST
    blocked = next((story for story in view.found.backlog.stories if story.status == "blocked"), None)
    return freeing(view, blocked) if blocked else ""


def freeing(view: Outlook, story: Story) -> str:
    """Of a story that is out of attempts or was given up."""
    state = view.found.status.state
    if view.local or not is_given_up(view, story):
        return freeing_command(story.id, view.found.prd.path, local=view.local)
    if state is ProjectState.BLOCKED:
        return leaving_out(story)
    return f"/tdd start {story.id}" if state is ProjectState.SPRINT_ACTIVE else f"/approve {story.id}"


def freeing_command(story: str, path: str, *, local: bool) -> str:
    """Fresh attempts, by a person's word."""
    return f"prd2pr run {shlex.quote(path)} --story {story}" if local else f"/tdd retry {story}"


def leaving_out(story: Story) -> str:
    """The end of a story that was given up: it is settled, and what is left can be finished."""
    return f"/skip_task {story.id}"
