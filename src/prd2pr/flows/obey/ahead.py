"""What comes next, in the words of a code host: one sentence and the command to copy."""

from __future__ import annotations

from prd2pr.core.budget import Budget, BudgetStop, CallEstimate, check
from prd2pr.core.decide import Rest, next_phase
from prd2pr.core.picture_next import WAITS_FOR
from prd2pr.core.picture_parts import NextStep
from prd2pr.core.records import SETTLED, Spend, Story
from prd2pr.core.said.answers import NotNow
from prd2pr.flows.readiness import NO_SPRINT, asking, chosen_story
from prd2pr.flows.session import Session
from prd2pr.repo.store import BranchState

SUGGEST = '/suggest_fix "what to try"'


def what_stands_in_the_way(session: Session, state: BranchState) -> Rest | None:
    """None: the next phase can be worked on now."""
    if state.status.state in NO_SPRINT and session.approval in ("plan", "story") and unsettled(state):
        return asking(session, state)
    story = chosen_story(session, state)
    if isinstance(story, Rest):
        return story
    phase = next_phase(story, state.cycle(story.id))
    return phase if isinstance(phase, Rest) else None


def unsettled(state: BranchState) -> bool:
    return any(story.status not in SETTLED for story in state.backlog.stories)


def next_step(session: Session, state: BranchState) -> NextStep:
    """Nothing, where the order to go on stands and nothing is in its way."""
    rest = what_stands_in_the_way(session, state)
    if rest is not None:
        return step_of(rest)
    if state.status.order == "run":
        return NextStep("")
    story = chosen_story(session, state)
    assert isinstance(story, Story), "nothing stands in the way"
    phase = next_phase(story, state.cycle(story.id))
    waits = "its next phase" if isinstance(phase, Rest) else WAITS_FOR[phase]
    return NextStep(f"`{story.id}` is waiting for {waits}.", "/tdd next")


def step_of(rest: Rest) -> NextStep:
    return NextStep(sentence(rest.reason), command_of(rest))


def command_of(rest: Rest) -> str:
    """The program's own commands help nobody in a comment."""
    if rest.outcome == "blocked":
        return SUGGEST
    return "/tdd overview" if rest.next.startswith("prd2pr") else rest.next


def in_the_way(shown: str, rest: Rest) -> NotNow:
    """Why not now, and what would help; the reason is told once."""
    return NotNow(shown, rest.reason, NextStep("", command_of(rest)))


def sentence(reason: str) -> str:
    first = reason.partition(" ")[0]
    text = reason[:1].upper() + reason[1:] if first.isalpha() else reason
    return text if text.endswith((".", "!", "?")) else f"{text}."


# --- the budget -------------------------------------------------------------------------------------------------------


def budget_now(session: Session, state: BranchState, story: str = "") -> Budget:
    cycles = [cycle for name in state.cycle_ids if (cycle := state.cycle(name)) is not None]
    runs = [run for run_id in state.run_ids() if (run := state.run(run_id)) is not None]
    mine = [step for cycle in cycles if cycle.story == story for step in cycle.steps]
    return Budget(
        limits=session.limits,
        spent_run=session.log.spend,
        spent_story=sum((step.spend for step in mine), Spend()),
        spent_prd=sum((run.spend for run in runs), Spend()),
        started=session.log.started,
        seconds_story=sum(step.seconds for step in mine),
        seconds_prd=sum(step.seconds for cycle in cycles for step in cycle.steps),
    )


def used_up(session: Session, state: BranchState, story: str) -> BudgetStop | None:
    """Whether a limit is reached already, so that not even the smallest call could be made."""
    return check(budget_now(session, state, story), session.clock.monotonic(), CallEstimate(model=""))
