"""What a changed PRD means for the plan on a branch. Its history says what requirements said that were gone meanwhile.

The same for who plans, for who shows, and for who proves it again.
"""

from __future__ import annotations

from prd2pr.core.put_back import in_question
from prd2pr.core.records import Phase, Prd, Requirement
from prd2pr.core.replan import PlanChange, plan_change
from prd2pr.core.requirement_ids import key_of
from prd2pr.flows.peoples_work import first_parents, step_of
from prd2pr.repo.store import BranchState


def change_to(state: BranchState, after: Prd) -> PlanChange:
    assert state.prd is not None, "only a plan can be changed"
    keys = in_question(state.prd, state.backlog, after)
    earlier = last_said(state, keys) if keys else {}
    return plan_change(state.prd, state.backlog, after, state.begun, earlier)


def last_said(state: BranchState, keys: frozenset[str]) -> dict[str, Requirement]:
    """By key, as the last plan on the branch had them that had them at all."""
    store, found = state.store, dict[str, Requirement]()
    for commit in first_parents(store.git, state.commit):
        step = step_of(commit)
        if step is None or step.phase is not Phase.PLAN or step.prd != store.prd_id:
            continue
        planned = store.load(commit.sha).prd
        said = {key_of(each.id): each for each in planned.requirements} if planned else {}
        found = {**{key: said[key] for key in keys & said.keys()}, **found}
        if len(found) == len(keys):
            break
    return found
