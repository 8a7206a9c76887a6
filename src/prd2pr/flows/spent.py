"""What was spent so far, against its limits."""

from __future__ import annotations

from prd2pr.core.budget import Budget, BudgetStop, CallEstimate, check
from prd2pr.core.records import Spend
from prd2pr.flows.session import Session
from prd2pr.repo.store import BranchState


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
