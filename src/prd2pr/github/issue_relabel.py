"""Detect an issue that was labeled again, so that its new text is used even if the run started by the label was lost.

That run may have been cut off, or its plan may have failed. GitHub knows when the label was added, and the branch
records when the run that made its plan started.
"""

from __future__ import annotations

from datetime import datetime

from prd2pr.domain.forge import Issue
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.records import Phase, Prd
from prd2pr.github.context import GitHubContext
from prd2pr.github.event_prds import Subject, UnreadablePrd, can_label, explain_unwanted, read_issue_prd
from prd2pr.github.preconditions import RemotePrd
from prd2pr.state.store import BranchState
from prd2pr.workflow.human_commits import read_commit_step, walk_first_parents


def find_prd_after_relabel(found: RemotePrd) -> Prd | NoAction | None:
    """Return the PRD to plan, the reason why it cannot be planned, or None if the issue was not labeled again.

    If it cannot be planned, nothing is built.
    """
    context = found.context
    if found.subject.prd is not None or found.head is None:
        return None
    issue = found.issue
    if issue is None or explain_unwanted(context, issue):
        return None
    subject, state = read_issue_prd(context, issue), found.state_at(found.head)
    same = isinstance(subject, Subject) and subject.prd and state.prd and subject.prd.blob == state.prd.blob
    if same or not was_labelled_since(context, issue, find_last_plan_time(state)):
        return None
    if isinstance(subject, UnreadablePrd):
        return wait_for_relabel(context, f"its text is not a valid PRD: {subject.problem.what}")
    if not can_label(context, issue.author):
        # The author can edit the issue at any time, but has no permission to decide what is built.
        return wait_for_relabel(
            context, "its text at that time is unknown, because its author may have edited it since"
        )
    return subject.prd if isinstance(subject, Subject) else None


def was_labelled_since(context: GitHubContext, issue: Issue, at: str) -> bool:
    """Return whether someone with permission added the label after this time."""
    labelling = context.hub.last_labelling(issue.number, context.config.labels.trigger)
    if labelling is None or not labelling.at or datetime.fromisoformat(labelling.at) <= datetime.fromisoformat(at):
        return False
    return can_label(context, labelling.by)


def find_last_plan_time(state: BranchState) -> str:
    """Return when the run that made the last plan was started. That run ignored labels added later."""
    store = state.store
    for commit in walk_first_parents(store.git, state.commit):
        step = read_commit_step(commit)
        if step is not None and step.phase is Phase.PLAN:
            made = store.load(commit.sha)
            ids = made.run_ids()  # ids start with a timestamp
            run = made.run(ids[-1]) if ids else None
            return run.started_at if run else commit.at
    return state.store.git.commit_info(state.commit).at


def wait_for_relabel(context: GitHubContext, why: str) -> NoAction:
    label = context.config.labels.trigger
    return NoAction(
        "waiting",
        f"the issue was labeled again but has not been planned since: {why}. Nothing is built from its earlier text",
        f"read the issue, then remove the label `{label}` and add it again",
    )
