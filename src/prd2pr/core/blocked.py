"""A project that is blocked: the evidence, and the three most useful ways out, each a command that is accepted now."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from prd2pr.core.ahead import SUGGEST, Outlook, freeing_command, leaving_out
from prd2pr.core.decide import next_phase
from prd2pr.core.records import SETTLED, Cycle, Phase, ProjectState, RefusedAttempt, Spend, Story
from prd2pr.core.wording import clip, duration, money, plain, token_count, visible

SHOWN_ATTEMPTS = 3
SHOWN_TESTS = 5
LONGEST_REASON = 600
ALSO = "A commit of yours on the branch is judged by the same gate."


@dataclass(frozen=True)
class Way:
    command: str
    does: str  # leaves the story out for good


@dataclass(frozen=True)
class Tried:
    phase: str
    attempt: int
    codes: tuple[str, ...]
    summary: str


@dataclass(frozen=True)
class Blocked:
    story: str  # empty: it is CI that blocks
    title: str
    reason: str
    tried: tuple[Tried, ...]  # the last attempts that were refused
    attempts: int  # so many in all, at the phase that is not crossed
    tests: tuple[str, ...]  # that failed in the last one
    cost: str
    ways: tuple[Way, ...]
    also: str = ""


def blocked(view: Outlook, branch: str = "") -> Blocked | None:
    """None where nothing is blocked."""
    status, stories = view.found.status, view.found.backlog.stories
    story = next((each for each in stories if each.status not in SETTLED and is_stuck(view, each)), None)
    if status.state is not ProjectState.BLOCKED and (story is None or not view.local):
        return None  # of a sprint that was paused meanwhile: what is next is to go on with that
    if story is None:
        return Blocked("", "", clipped(status.blocked_reason), (), 0, (), "", ways_from_ci(view), "")
    cycle = view.found.cycle(story.id) or Cycle(story=story.id)
    refused = at_present_phase(story, cycle)
    return Blocked(
        story=plain(story.id),
        title=clip(plain(story.title), 120),
        reason=clipped(cycle.blocked or status.blocked_reason),
        tried=tuple(map(tried, refused[-SHOWN_ATTEMPTS:])),
        attempts=sum(each.attempt > 0 for each in refused),
        tests=tuple(visible(test) for test in refused[-1].tests[:SHOWN_TESTS]) if refused else (),
        cost=cost_of(cycle),
        ways=ways_at_home(view, story, branch) if view.local else ways_in_comments(story),
        also=ALSO,
    )


def is_stuck(view: Outlook, story: Story) -> bool:
    """Out of attempts; one that a person gave up waits for nothing."""
    cycle = view.found.cycle(story.id)
    return cycle is not None and bool(cycle.blocked)


def at_present_phase(story: Story, cycle: Cycle) -> tuple[RefusedAttempt, ...]:
    """A refactoring that was refused is dropped: what then blocks is the integration."""
    due = next_phase(story, cycle.model_copy(update={"paused": False}))
    phases = {due, Phase.INTEGRATED} if due is Phase.REFACTOR else {due}
    return tuple(each for each in cycle.refused if each.phase in phases)


def tried(refused: RefusedAttempt) -> Tried:
    codes = tuple(plain(code) for code in refused.codes)
    return Tried(refused.phase.value, refused.attempt, codes, clip(plain(refused.summary), 400))


def cost_of(cycle: Cycle) -> str:
    """12k tokens, $0.40, 3 min"""
    spend = sum((step.spend for step in cycle.steps), Spend())
    seconds = sum(step.seconds for step in cycle.steps)
    return ", ".join((token_count(spend.tokens), money(spend.usd, unlimited=False), duration(seconds)))


def clipped(reason: str) -> str:
    return clip(plain(reason), LONGEST_REASON)


# --- ways out ---------------------------------------------------------------------------------------------------------


def ways_in_comments(story: Story) -> tuple[Way, ...]:
    return (
        Way(SUGGEST, "tells the next attempt what to try"),
        Way(freeing_command(story.id, "", local=False), "tries again as it is, with fresh attempts"),
        Way(leaving_out(story), "leaves the story out for good; what is left goes on"),
    )


def ways_at_home(view: Outlook, story: Story, branch: str) -> tuple[Way, ...]:
    again = freeing_command(story.id, view.found.prd.path, local=True)
    own = f"git switch {shlex.quote(plain(branch))}" if branch else "git switch"
    return (
        Way(again, "tries again with fresh attempts"),
        Way(f"{again} --model human", "lets you do this phase yourself, and judges it by the same gate"),
        Way(own, "to mend it in a commit of your own; switch back, and the same gate judges it in the next run"),
    )


def ways_from_ci(view: Outlook) -> tuple[Way, ...]:
    if view.local:
        return ()
    return (
        Way(SUGGEST, "goes on, and tells the next attempt what to try"),
        Way("/tdd run_tests", "shows whether the tests pass here"),
        Way("/tdd halt_all", "keeps everything as it is until you have looked"),
    )
