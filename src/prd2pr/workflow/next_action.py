"""Decide the next action on a branch, taking the repository into account: a changed locked test, or a deleted PRD."""

from __future__ import annotations

from prd2pr.agents.outputs.security import find_security_question
from prd2pr.agents.roles import SECURITY
from prd2pr.domain.machines.next_action import (
    ActionContext,
    NextAction,
    PhaseAction,
    find_next_action,
    format_reset_command,
    get_run_story,
)
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.records import Cycle, Phase, Story
from prd2pr.state.git import Git
from prd2pr.state.store import BranchState
from prd2pr.views.models import NextStep
from prd2pr.views.pull_request.next_step import (
    BASE_MERGED,
    build_budget_step,
    build_next_step,
    suggest_review_of_changes,
)
from prd2pr.workflow.breakers import find_tripped_breaker
from prd2pr.workflow.commits.base_merges import list_merges_if_only_base
from prd2pr.workflow.commits.decisions import read_decision_input
from prd2pr.workflow.human_commits import list_unjudged_commits
from prd2pr.workflow.moderation import check_moderation
from prd2pr.workflow.planning.replan import find_missing_prd, find_outdated_plan
from prd2pr.workflow.session import Session
from prd2pr.workflow.spending import find_reached_limit


def load_action_context(session: Session, state: BranchState, only: str = "") -> ActionContext:
    """Return all facts that decide the next action."""

    def touched(cycle: Cycle) -> str:
        return find_changed_locked_test(session.git, state.commit, cycle)

    def held(story: Story, phase: Phase) -> NoAction | None:
        tree, regressed = session.log.branch_writes.regression
        if regressed and phase is Phase.DESIGN and story.kind != "bug" and tree == session.git.code_tree(state.commit):
            return NoAction("waiting", regressed)
        circuit = find_tripped_breaker(session, state, phase, reset_command(session))
        return circuit or check_moderation(session, state, story)

    gone = find_missing_prd(session, state) or find_outdated_plan(session, state)
    return ActionContext(
        read_decision_input(state),
        session.constraints.approval,
        only,
        touched,
        gone,
        held,
        find_plan_risk(session, state),
        session.config.assume,
    )


def reset_command(session: Session) -> str:
    return format_reset_command(session.prd.path, local=session.constraints.approval == "given")


def find_plan_risk(session: Session, state: BranchState) -> str:
    """Return the critical risk of a plan that is not approved yet, or an empty string.

    At a terminal, calling the program again approves the plan.
    """
    is_started = state.status.sprint is not None or state.status.approvals
    is_acknowledged = session.constraints.approval == "given" and state.commit not in session.log.branch_writes.commits
    return "" if is_started or is_acknowledged else find_security_question(state.backlog, state.role(SECURITY.name))


def load_run_action_context(session: Session, state: BranchState) -> ActionContext:
    """Load the context, limited to the story of the pending run command."""
    return load_action_context(
        session, state, session.target.story or get_run_story(state.status, session.constraints.approval)
    )


def find_branch_action(session: Session, state: BranchState) -> NextAction:
    return find_next_action(load_run_action_context(session, state))


def find_next_step(session: Session, state: BranchState) -> NextStep:
    context = load_run_action_context(session, state)
    action = find_next_action(context)
    is_done = isinstance(action, NoAction) and action.outcome == "done"
    unjudged_commits = list_unjudged_commits(session.git, state.commit, session.constraints.paths) if is_done else ()
    if unjudged_commits:
        if list_merges_if_only_base(session, state.commit):
            return BASE_MERGED
        return suggest_review_of_changes(
            len(unjudged_commits),
            context.records.status.state,
            local=context.is_local,
            head=session.target.branch,
            base=state.project.base_branch,
        )
    if isinstance(action, PhaseAction) and context.records.status.order == "run" and not context.is_local:
        return check_run_budget(session, state, action) or build_next_step(context, action)
    return build_next_step(context, action)


def check_run_budget(session: Session, state: BranchState, action: PhaseAction) -> NextStep | None:
    """Return a stop if a budget limit is reached or the last run asked for a higher one, otherwise None."""
    stop = find_reached_limit(session, state, action.story.id)
    if stop is None and not session.host.waits_for_budget():
        return None
    return build_budget_step(stop.remedy if stop else "")


def find_changed_locked_test(git: Git, commit: str, cycle: Cycle) -> str:
    """Return a locked test that a person changed, or an empty string. No attempt can pass with such a change."""
    files = [file for file in cycle.test_files if file.status != "draft"]
    if not files:
        return ""
    blobs = {entry.path: entry.blob for entry in git.entries(git.code_tree(commit))}
    return next((file.path for file in files if blobs.get(file.path) != file.blob), "")
