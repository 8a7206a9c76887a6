"""Effects of people's decisions (slash commands) on the records, as pure functions.

`compute_effect` is used both to apply a decision and to verify the commit that recorded it. May import `planning` and
`domain`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from prd2pr.domain.breakers.circuits import close_circuits, list_open_circuits
from prd2pr.domain.costs.budget import SPENT_NOTE
from prd2pr.domain.decision import Decision
from prd2pr.domain.machines.branch_records import BranchRecords
from prd2pr.domain.machines.phase_transitions import update_epics
from prd2pr.planning.decisions import backlog, completion, regressions, spending, sprints, stories, unmet
from prd2pr.planning.decisions.records import DecisionEffect, DecisionOutcome, Objection, record_decision


def reset_circuits(found: BranchRecords, decision: Decision) -> DecisionEffect:
    """Reset the named circuit breaker, or all breakers that are not closed."""
    opened = tuple(circuit.name for circuit in list_open_circuits(found.circuits))
    if not opened:
        return Objection("no circuit breaker is open")
    if decision.circuit and decision.circuit not in opened:
        return Objection(f"the circuit breaker {decision.circuit} is not open", f"/{decision.command} {opened[0]}")
    names = (decision.circuit,) if decision.circuit else opened
    status = record_decision(found.status, decision, found.status.state, found.status.state)
    return DecisionOutcome(status, found.backlog, circuits=close_circuits(found.circuits, names))


__all__ = ["EFFECTS", "BranchRecords", "DecisionEffect", "DecisionOutcome", "Objection", "compute_effect"]

EFFECTS: dict[str, Callable[[BranchRecords, Decision], DecisionEffect]] = {
    "epic": backlog.add_epic,
    "approve": sprints.approve_stories,
    "sprint plan": sprints.plan_sprint,
    "sprint start": sprints.start_sprint,
    "sprint pause": partial(sprints.set_sprint_status, sprint_status="paused"),
    "sprint resume": partial(sprints.set_sprint_status, sprint_status="active"),
    "suggest_fix": stories.suggest_fix,
    "skip_task": stories.skip_task,
    "request_changes": backlog.add_epic,
    "feedback": backlog.record_feedback,
    "backlog add_story": backlog.add_story,
    "backlog prioritize": backlog.prioritize_story,
    "backlog remove": backlog.remove_story,
    "tdd start": stories.start_story,
    "tdd abort": stories.abort_story,
    "tdd skip_phase": stories.skip_phase,
    "tdd retry": stories.retry_cycle,
    "tdd pause": partial(stories.set_paused, paused=True),
    "tdd resume": stories.resume_story,
    "tdd halt_all": stories.halt_all,
    "tdd run": stories.request_run,
    "tdd reset": reset_circuits,
    "tdd answer": backlog.answer_question,
    # Events that no command triggers.
    "stories wait for approval": sprints.wait_for_approval,
    sprints.SPRINT_DONE: backlog.review_sprint,
    "CI failed three times": sprints.block_after_ci_failures,
    SPENT_NOTE: spending.note_spending,
    regressions.REGRESSED: regressions.add_fix_story,
    completion.COMPLETED: completion.complete_prd,
    unmet.UNMET: unmet.split_unmet_story,
}


def compute_effect(found: BranchRecords, decision: Decision) -> DecisionEffect:
    """Return the records after a decision, or an objection if the decision is not allowed or makes no sense."""
    left = EFFECTS[decision.command](found, decision)
    if not isinstance(left, DecisionOutcome) or left.backlog is found.backlog:
        return left
    return replace(left, backlog=update_epics(left.backlog))
