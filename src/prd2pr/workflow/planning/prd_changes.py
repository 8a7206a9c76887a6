"""Determine how a changed PRD affects the plan on a branch, including requirements that were removed and added again.

Used for planning, for display and by `verify`.
"""

from __future__ import annotations

from prd2pr.domain.records import Phase, Prd, Requirement
from prd2pr.planning.plan_diff import PlanChange, compute_plan_change
from prd2pr.prd.requirement_ids import get_requirement_key
from prd2pr.prd.restored_requirements import find_reappeared_keys
from prd2pr.state.store import BranchState
from prd2pr.workflow.human_commits import read_commit_step, walk_first_parents


def find_plan_change(state: BranchState, after: Prd) -> PlanChange:
    assert state.prd is not None, "there is a plan to change"
    keys = find_reappeared_keys(state.prd, state.backlog, after)
    earlier = find_earlier_requirements(state, keys) if keys else {}
    return compute_plan_change(state.prd, state.backlog, after, state.started_stories, earlier)


def find_earlier_requirements(state: BranchState, keys: frozenset[str]) -> dict[str, Requirement]:
    """Return requirements by key, each from the last plan on the branch that contained it."""
    store, found = state.store, dict[str, Requirement]()
    for commit in walk_first_parents(store.git, state.commit):
        step = read_commit_step(commit)
        if step is None or step.phase is not Phase.PLAN or step.prd != store.prd_id:
            continue
        planned = store.load(commit.sha).prd
        requirements = {get_requirement_key(each.id): each for each in planned.requirements} if planned else {}
        found = {**{key: requirements[key] for key in keys & requirements.keys()}, **found}
        if len(found) == len(keys):
            break
    return found
