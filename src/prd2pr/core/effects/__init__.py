"""What a decision makes of the records: one pure function, used by whoever carries it out and by whoever checks it."""

from __future__ import annotations

from collections.abc import Callable

from prd2pr.core.decision import Decision
from prd2pr.core.effects import backlogs, circuits, money, regressions, sprints, stories
from prd2pr.core.effects.records import Effect, Left, Objection
from prd2pr.core.found import Found

__all__ = ["EFFECTS", "Effect", "Found", "Left", "Objection", "effect_of"]

EFFECTS: dict[str, Callable[[Found, Decision], Effect]] = {
    "epic": backlogs.add_epic,
    "approve": sprints.approve,
    "sprint plan": sprints.plan_sprint,
    "sprint start": sprints.start_sprint,
    "sprint pause": sprints.pause_sprint,
    "sprint resume": sprints.resume_sprint,
    "suggest_fix": stories.suggest_fix,
    "skip_task": stories.skip_task,
    "request_changes": backlogs.add_epic,
    "feedback": backlogs.feedback,
    "backlog add_story": backlogs.add_story,
    "backlog prioritize": backlogs.prioritize,
    "backlog remove": backlogs.remove,
    "tdd start": stories.start,
    "tdd abort": stories.abort,
    "tdd skip_phase": stories.skip_phase,
    "tdd retry": stories.retry,
    "tdd pause": stories.pause,
    "tdd resume": stories.resume,
    "tdd halt_all": stories.halt_all,
    "tdd run": stories.run,
    "tdd reset": circuits.reset_circuits,
    # What happens by itself.
    "stories wait for approval": sprints.wait_for_approval,
    "CI failed three times": sprints.block_for_ci,
    money.SPENT: money.keep_account,
    regressions.REGRESSED: regressions.add_mending,
}


def effect_of(found: Found, decision: Decision) -> Effect:
    """A Refusal is the machine's, an Objection common sense's; in both cases nothing changes."""
    return EFFECTS[decision.command](found, decision)
