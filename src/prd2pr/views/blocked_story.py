"""The view of a blocked project: the evidence and up to three commands that unblock it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from prd2pr.domain.machines.next_action import (
    SUGGEST_FIX_COMMAND,
    ActionContext,
    format_retry_command,
    format_skip_command,
)
from prd2pr.domain.machines.next_phase import find_next_phase
from prd2pr.domain.records import SETTLED, Cycle, Phase, ProjectState, RefusedAttempt, Spend, Story
from prd2pr.domain.wording import clean_line, clip, escape_invisible, format_cost, format_duration, format_token_count

SHOWN_ATTEMPTS = 3
SHOWN_TESTS = 5
MAX_REASON = 600
OWN_COMMIT_HINT = "Your own commits on the branch are checked by the same gate."


@dataclass(frozen=True)
class UnblockOption:
    command: str
    effect: str


@dataclass(frozen=True)
class AttemptSummary:
    phase: str
    attempt: int
    codes: tuple[str, ...]
    summary: str


@dataclass(frozen=True)
class BlockedView:
    story: str  # empty if CI blocks the project
    title: str
    reason: str
    tried: tuple[AttemptSummary, ...]  # the most recent refused attempts
    attempts: int  # total number of attempts at the current phase
    tests: tuple[str, ...]  # tests that failed in the last attempt
    cost: str
    ways: tuple[UnblockOption, ...]
    also: str = ""


def build_blocked_view(context: ActionContext, branch: str = "") -> BlockedView | None:
    """Build the view, or return None if nothing is blocked."""
    status, stories = context.records.status, context.records.backlog.stories
    story = next((each for each in stories if each.status not in SETTLED and is_story_blocked(context, each)), None)
    if status.state is not ProjectState.BLOCKED and (story is None or not context.is_local):
        return None  # the sprint was paused in the meantime and must be resumed first
    if story is None:
        return BlockedView("", "", clip_reason(status.blocked_reason), (), 0, (), "", list_ci_options(context), "")
    cycle = context.records.cycle(story.id) or Cycle(story=story.id)
    refused = list_current_attempts(story, cycle)
    return BlockedView(
        story=clean_line(story.id),
        title=clip(clean_line(story.title), 120),
        reason=clip_reason(cycle.blocked or status.blocked_reason),
        tried=tuple(map(summarize_attempt, refused[-SHOWN_ATTEMPTS:])),
        attempts=sum(each.attempt > 0 for each in refused),
        tests=tuple(escape_invisible(test) for test in refused[-1].tests[:SHOWN_TESTS]) if refused else (),
        cost=format_cycle_cost(cycle),
        ways=list_local_options(context, story, branch) if context.is_local else list_comment_options(story),
        also=OWN_COMMIT_HINT,
    )


def is_story_blocked(context: ActionContext, story: Story) -> bool:
    """Return whether the story has no attempts left. Stories that a person aborted are not blocked."""
    cycle = context.records.cycle(story.id)
    return cycle is not None and bool(cycle.blocked)


def list_current_attempts(story: Story, cycle: Cycle) -> tuple[RefusedAttempt, ...]:
    """List the refused attempts at the current phase, or at integration if a refused refactoring was dropped."""
    next_phase = find_next_phase(story, cycle.model_copy(update={"paused": False}))
    phases = {next_phase, Phase.INTEGRATED} if next_phase is Phase.REFACTOR else {next_phase}
    return tuple(each for each in cycle.refused if each.phase in phases)


def summarize_attempt(refused: RefusedAttempt) -> AttemptSummary:
    codes = tuple(clean_line(code) for code in refused.codes)
    return AttemptSummary(refused.phase.value, refused.attempt, codes, clip(clean_line(refused.summary), 400))


def format_cycle_cost(cycle: Cycle) -> str:
    """Format tokens, dollars and time as `12k tokens, $0.40, 3 min`."""
    spend = sum((step.spend for step in cycle.steps), Spend())
    seconds = sum(step.seconds for step in cycle.steps)
    return ", ".join(
        (format_token_count(spend.tokens), format_cost(spend.usd, unlimited=False), format_duration(seconds))
    )


def clip_reason(reason: str) -> str:
    return clip(clean_line(reason), MAX_REASON)


# --- commands that unblock --------------------------------------------------------------------------------------------


def list_comment_options(story: Story) -> tuple[UnblockOption, ...]:
    return (
        UnblockOption(SUGGEST_FIX_COMMAND, "passes your advice to the next attempt"),
        UnblockOption(format_retry_command(story.id, "", local=False), "retries unchanged, with new attempts"),
        UnblockOption(format_skip_command(story), "skips the story permanently; the other stories continue"),
    )


def list_local_options(context: ActionContext, story: Story, branch: str) -> tuple[UnblockOption, ...]:
    again = format_retry_command(story.id, context.records.prd.path, local=True)
    own = f"git switch {shlex.quote(clean_line(branch))}" if branch else "git switch"
    return (
        UnblockOption(again, "retries with new attempts"),
        UnblockOption(f"{again} --model human", "lets you do this phase yourself; the same gate checks it"),
        UnblockOption(own, "to fix it in your own commit; switch back, and the next run checks it with the same gate"),
    )


def list_ci_options(context: ActionContext) -> tuple[UnblockOption, ...]:
    if context.is_local:
        return ()
    return (
        UnblockOption(SUGGEST_FIX_COMMAND, "continues and passes your advice to the next attempt"),
        UnblockOption("/tdd run_tests", "shows whether the tests pass here"),
        UnblockOption("/tdd halt_all", "stops all work until you resume it"),
    )
