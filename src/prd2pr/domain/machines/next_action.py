"""Decide the next action for a PRD. The work loop, all pages, comments and the terminal use it.

Every command that is suggested here would be accepted now.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from prd2pr.domain.machines.approval import (
    ApprovalMode,
    limit_to_chosen_sprint,
    list_approved_stories,
    list_covered_stories,
    list_unapproved_stories,
    suggest_approve_command,
)
from prd2pr.domain.machines.branch_records import BranchRecords
from prd2pr.domain.machines.next_phase import NoAction, find_next_phase
from prd2pr.domain.questions import AS_PLANNED, find_awaited_question, list_contradictions
from prd2pr.domain.records import SETTLED, Cycle, CycleState, Phase, ProjectState, Status, Story

STATES_WITHOUT_SPRINT = (ProjectState.IDLE, ProjectState.BACKLOG_READY, ProjectState.SPRINT_PLANNED)
FEEDBACK_COMMAND = '/feedback "what went well, what to improve"'
SUGGEST_FIX_COMMAND = '/suggest_fix "what to try"'


@dataclass(frozen=True)
class PhaseAction:
    """The next phase of a story, which can be worked on now."""

    story: Story
    phase: Phase
    draft: bool = False  # the branch has a draft that no gate has judged


NextAction = PhaseAction | NoAction


def find_no_changed_test(_: Cycle) -> str:
    return ""


def find_no_hold(_: Story, __: Phase) -> NoAction | None:
    return None


@dataclass(frozen=True)
class ActionContext:
    """The input of the decision: the records of the branch and other observations."""

    records: BranchRecords
    mode: ApprovalMode = "given"
    only_story: str = ""  # restricts the decision to this story; empty for any story
    # Returns the path of one of the story's locked tests that somebody has changed.
    find_changed_test: Callable[[Cycle], str] = find_no_changed_test
    prd_stop: NoAction | None = None  # the PRD was deleted, or cannot be read or planned in its current form
    # Returns an open circuit breaker or an alarm that a person must answer.
    find_hold: Callable[[Story, Phase], NoAction | None] = find_no_hold
    risk: str = ""  # a risk that a person must accept before the plan is built
    assume: bool = False  # whether stories of contradictory requirements are built before somebody answers

    @property
    def is_local(self) -> bool:
        """Whether the user works at a terminal. Otherwise commands are written in comments."""
        return self.mode == "given"

    @cached_property
    def approved_ids(self) -> frozenset[str] | None:
        approved = list_approved_stories(self.mode, self.records.status, self.records.prd, self.records.backlog)
        return limit_to_chosen_sprint(approved, self.records.sprint, self.records.status.state)

    @cached_property
    def settled_ids(self) -> frozenset[str]:
        return frozenset(story.id for story in self.records.backlog.stories if story.status in SETTLED)

    @cached_property
    def open_stories(self) -> tuple[Story, ...]:
        return tuple(story for story in self.records.backlog.stories if story.status not in SETTLED)

    @cached_property
    def workable_stories(self) -> tuple[Story, ...]:
        """Open stories that are not blocked and whose dependencies are settled."""
        return tuple(filter(self._is_free, self.open_stories))

    def iter_ready_stories(self) -> Iterator[Story]:
        """Yield the workable and approved stories, those in progress first."""
        for story in self.open_stories:
            if story.status == "in_progress" and self._is_free(story) and self.is_approved(story):
                yield story
        for story in self.open_stories:
            if story.status != "in_progress" and self._is_free(story) and self.is_approved(story):
                yield story

    def _is_free(self, story: Story) -> bool:
        return story.status != "blocked" and self._has_settled_dependencies(story) and not self.waits_for_answer(story)

    def waits_for_answer(self, story: Story) -> bool:
        return not self.assume and bool(list_contradictions(self.records.backlog, story))

    def _has_settled_dependencies(self, story: Story) -> bool:
        return not story.depends_on or self.settled_ids.issuperset(self.list_dependencies(story))

    @cached_property
    def story_ids(self) -> frozenset[str]:
        return frozenset(story.id for story in self.records.backlog.stories)

    def list_dependencies(self, story: Story) -> tuple[str, ...]:
        return tuple(name for name in story.depends_on if name in self.story_ids)

    def is_approved(self, story: Story) -> bool:
        return self.approved_ids is None or story.id in self.approved_ids


def get_run_story(status: Status, mode: ApprovalMode) -> str:
    """Return the story that a pending `/tdd run STORY` names, or an empty string.

    It does not apply while the project is blocked, nor at a terminal, where the call itself names the story.
    """
    applies = status.order == "run" and status.state is ProjectState.SPRINT_ACTIVE and mode != "given"
    return status.order_story if applies else ""


def find_next_action(context: ActionContext) -> NextAction:
    story = find_next_story(context)
    return story if isinstance(story, NoAction) else find_story_action(context, story)


def find_next_story(context: ActionContext) -> Story | NoAction:
    """Return the story to work on: one in progress, or else the first one whose dependencies are done."""
    stopped = context.prd_stop or check_stories_left(context) or check_human_stop(context)
    if stopped is not None:
        return stopped
    if context.only_story:
        return find_named_story(context)
    status = context.records.status
    if status.state is ProjectState.BLOCKED:
        return NoAction(
            "blocked", status.blocked_reason or "a story is out of attempts", suggest_unblock_command(context)
        )
    return find_ready_story(context)


def check_stories_left(context: ActionContext) -> NoAction | None:
    stories = context.records.backlog.stories
    if not stories:
        return NoAction("nothing", "there are no stories yet", format_run_command(context))
    if context.open_stories or context.only_story:
        return None
    return NoAction(
        "done", "the one story is finished" if len(stories) == 1 else f"all {len(stories)} stories are finished"
    )


def check_human_stop(context: ActionContext) -> NoAction | None:
    """Return why a person must act first because of a pause or a missing approval, or None."""
    status = context.records.status
    if status.halted:
        return NoAction("paused", "all stories are halted", format_slash_command(context, "/tdd resume"))
    if status.state is ProjectState.SPRINT_PAUSED:
        return NoAction("paused", "the sprint is paused", format_slash_command(context, "/sprint resume"))
    if status.state is ProjectState.SPRINT_REVIEW and context.open_stories:
        left = len(context.open_stories)
        waits = "1 story is left" if left == 1 else f"{left} stories are left"
        reason = f"the sprint is ready for review, and {waits} in the backlog"
        return NoAction("waiting", reason, format_slash_command(context, FEEDBACK_COMMAND))
    return describe_approval_wait(context) if context.open_stories and waits_for_person(context) else None


def find_story_action(context: ActionContext, story: Story) -> NextAction:
    cycle = context.records.cycle(story.id)
    phase = find_next_phase(story, cycle)
    if isinstance(phase, NoAction):
        return replace(phase, next=suggest_retry_command(context, story)) if phase.outcome == "stopped" else phase
    if cycle is not None and (path := context.find_changed_test(cycle)):
        reason = f"`{path}` was changed after RED committed it. Restore it in a separate commit"
        return NoAction("waiting", reason, format_next_command(context))
    held = context.find_hold(story, phase)
    if held is not None:
        return held
    return PhaseAction(story, phase, draft=bool(cycle and cycle.steps and cycle.steps[-1].draft))


# --- approval ---------------------------------------------------------------------------------------------------------


def waits_for_person(context: ActionContext) -> bool:
    """Return whether a person must act before the next sprint can start."""
    state = context.records.status.state
    if context.risk and state is ProjectState.BACKLOG_READY:
        return True
    if state not in STATES_WITHOUT_SPRINT or context.mode == "given":
        return False
    if context.mode == "none":
        return state is ProjectState.IDLE or (state is ProjectState.BACKLOG_READY and is_approval_due(context))
    return True


def is_approval_due(context: ActionContext) -> bool:
    """Return whether no approved story can continue while an unapproved one could."""
    if not list_unapproved_stories(context.records.backlog, context.approved_ids):
        return False
    if not any(context.is_approved(story) for story in context.open_stories):
        return True
    return bool(context.workable_stories) and not any(context.is_approved(story) for story in context.workable_stories)


def describe_approval_wait(context: ActionContext) -> NoAction:
    status = context.records.status
    if status.state is ProjectState.IDLE:
        return NoAction(
            "waiting", "the last sprint is closed, and the backlog has open stories", '/epic "what is next"'
        )
    if status.state is ProjectState.SPRINT_PLANNED:
        return NoAction("waiting", "the sprint is planned but not started", "/sprint start")
    changed = ": they changed after the last approval" if is_approval_outdated(context) else ""
    command = suggest_approve_command(context.mode, context.records.backlog, context.approved_ids)
    if context.risk:
        return NoAction("waiting", context.risk, format_run_command(context) if context.is_local else command)
    return NoAction("waiting", f"{describe_waiting_stories(context)}{changed}", command)


def is_approval_outdated(context: ActionContext) -> bool:
    """Return whether a story that waits for approval was approved before it changed."""
    found = context.records
    waiting = {story.id for story in list_unapproved_stories(found.backlog, context.approved_ids)}
    return any(
        not list_covered_stories(given, found.prd, found.backlog)
        and (not given.stories or waiting.intersection(given.stories))
        for given in found.status.approvals
    )


def describe_waiting_stories(context: ActionContext) -> str:
    """Describe how many stories wait for approval, and how many of them would be dropped."""
    unapproved = list_unapproved_stories(context.records.backlog, context.approved_ids) or context.open_stories
    dropping = sum(story.id in context.records.backlog.dropping for story in unapproved)
    building = len(unapproved) - dropping
    waits = "1 story waits for approval" if building == 1 else f"{building} stories wait for approval"
    if not dropping:
        return waits
    if not building:
        return f"{'1 story waits' if dropping == 1 else f'{dropping} stories wait'} for approval to be dropped"
    return f"{waits}, and {dropping} to be dropped"


# --- which story ------------------------------------------------------------------------------------------------------


def find_ready_story(context: ActionContext) -> Story | NoAction:
    """Return the first ready story that is not paused. Cycles are read one by one, since there may be thousands."""
    story = next((story for story in context.iter_ready_stories() if not is_paused(context, story)), None)
    if story is not None:
        return story
    if ready := tuple(context.iter_ready_stories()):
        names = ", ".join(story.id for story in ready)
        return NoAction("paused", f"{names} {'is' if len(ready) == 1 else 'are'} paused", f"/tdd resume {ready[0].id}")
    if is_approval_due(context):
        return describe_approval_wait(context)
    return describe_blocked_wait(context)


def describe_blocked_wait(context: ActionContext) -> NoAction:
    blocked = next((story for story in context.open_stories if story.status == "blocked"), None)
    asking = next((story for story in context.open_stories if context.waits_for_answer(story)), None)
    if blocked is None and asking is not None:
        return describe_answer_wait(context, asking)
    stuck = blocked or context.open_stories[0]
    others = ", and the remaining stories wait for it" if len(context.open_stories) > 1 else ""
    if not is_aborted(context, stuck):
        return NoAction("waiting", f"{stuck.id} is blocked{others}", suggest_retry_command(context, stuck))
    if context.is_local or context.records.status.state is not ProjectState.SPRINT_ACTIVE:
        return NoAction("waiting", f"{stuck.id} was aborted{others}", suggest_retry_command(context, stuck))
    choice = (
        f"`{suggest_retry_command(context, stuck)}` restarts it, `{format_skip_command(stuck)}` skips it permanently"
    )
    return NoAction("waiting", f"{stuck.id} was aborted{others}; {choice}", format_skip_command(stuck))


def describe_answer_wait(context: ActionContext, story: Story) -> NoAction:
    found = find_awaited_question(context.records.backlog, story)
    if found is None:  # the question was removed by hand
        names = list_contradictions(context.records.backlog, story)
        verb = "contradicts" if len(names) == 1 else "contradict"
        return NoAction("waiting", f"{story.id} waits until {', '.join(names)} no longer {verb} other requirements")
    number, question = found
    command = (
        f'prd2pr answer Q{number} "…" {quote_prd_path(context)}' if context.is_local else f'/tdd answer Q{number} "…"'
    )
    planned = "; ".join(each.text for each in story.criteria)
    reason = f"{story.id} waits for an answer to Q{number}: {question} (`{AS_PLANNED}` builds: {planned})"
    return NoAction("waiting", reason, command)


def is_aborted(context: ActionContext, story: Story) -> bool:
    cycle = context.records.cycle(story.id)
    return cycle is not None and cycle.state is CycleState.ABORTED


def is_paused(context: ActionContext, story: Story) -> bool:
    cycle = context.records.cycle(story.id)
    return cycle is not None and cycle.paused


def find_named_story(context: ActionContext) -> Story | NoAction:
    """Return the story named by `only_story`, or why it cannot be worked on. A blocked story is retried."""
    story = context.records.find_story(context.only_story)
    if story is None:
        names = ", ".join(each.id for each in context.records.backlog.stories)
        return NoAction(
            "nothing", f"there is no story {context.only_story}; there are {names}", suggest_other_command(context)
        )
    if story.status in SETTLED:
        return NoAction("done", f"{story.id} is {story.status}", suggest_other_command(context))
    missing = [name for name in context.list_dependencies(story) if name not in context.settled_ids]
    if missing:
        return NoAction("waiting", f"{story.id} waits for {', '.join(missing)}", suggest_other_command(context))
    if context.waits_for_answer(story):
        return describe_answer_wait(context, story)
    if not context.is_approved(story):
        reason = f"{story.id} is not approved; approved stories come first"
        return NoAction("waiting", reason, suggest_other_command(context))
    return story


# --- suggested commands -----------------------------------------------------------------------------------------------


def suggest_other_command(context: ActionContext) -> str:
    """Return the command to use if the named story cannot be worked on."""
    action = find_next_action(replace(context, only_story=""))
    return format_next_command(replace(context, only_story="")) if isinstance(action, PhaseAction) else action.next


def format_slash_command(context: ActionContext, command: str) -> str:
    """Return the command in the form for a terminal or for a comment."""
    return f"prd2pr command {command}" if context.is_local else command


def format_next_command(context: ActionContext) -> str:
    return f"prd2pr next {quote_prd_path(context)}" if context.is_local else "/tdd next"


def format_run_command(context: ActionContext) -> str:
    return f"prd2pr run {quote_prd_path(context)}" if context.is_local else "/tdd run"


def format_reset_command(path: str, *, local: bool) -> str:
    """Return the command that resets all tripped circuit breakers."""
    return f"prd2pr reset {shlex.quote(path)}" if local else "/tdd reset"


def quote_prd_path(context: ActionContext) -> str:
    return shlex.quote(context.records.prd.path)


def suggest_unblock_command(context: ActionContext) -> str:
    """Return the command that unblocks a project blocked by a story or by CI."""
    if not context.is_local:
        return SUGGEST_FIX_COMMAND
    blocked = next((story for story in context.records.backlog.stories if story.status == "blocked"), None)
    return suggest_retry_command(context, blocked) if blocked else ""


def suggest_retry_command(context: ActionContext, story: Story) -> str:
    """Return the command that retries a story that is out of attempts or was aborted."""
    state = context.records.status.state
    if context.is_local or not is_aborted(context, story):
        return format_retry_command(story.id, context.records.prd.path, local=context.is_local)
    if state is ProjectState.BLOCKED:
        return format_skip_command(story)
    return f"/tdd start {story.id}" if state is ProjectState.SPRINT_ACTIVE else f"/approve {story.id}"


def format_retry_command(story: str, path: str, *, local: bool) -> str:
    """Return the command that retries a story with fresh attempts."""
    return f"prd2pr run {shlex.quote(path)} --story {story}" if local else f"/tdd retry {story}"


def format_skip_command(story: Story) -> str:
    """Return the command that skips an aborted story, so that the remaining ones can be finished."""
    return f"/skip_task {story.id}"
