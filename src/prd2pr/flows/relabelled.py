"""An issue that was labelled again: its new text counts, whatever became of the run that the label started.

That run may have been cut off, or its plan may have failed. The host keeps when the label was given, and the branch
when the run began that made its plan.
"""

from __future__ import annotations

from datetime import datetime

from prd2pr.core.decide import Rest
from prd2pr.core.hub import Issue
from prd2pr.core.records import Phase, Prd
from prd2pr.flows.host import Host
from prd2pr.flows.over_already import OnHost
from prd2pr.flows.peoples_work import first_parents, step_of
from prd2pr.flows.subjects import Subject, Unreadable, issue_subject, may_label, why_not_wanted
from prd2pr.repo.store import BranchState


def labelled_anew(found: OnHost) -> Prd | Rest | None:
    """The text to plan; or why it cannot be, and then nothing is built by the plan that is there. None: neither."""
    host = found.host
    if found.subject.prd is not None or found.head is None:
        return None
    issue = found.issue
    if issue is None or why_not_wanted(host, issue):
        return None
    about, state = issue_subject(host, issue), found.state(found.head)
    same = isinstance(about, Subject) and about.prd and state.prd and about.prd.blob == state.prd.blob
    if same or not was_labelled_since(host, issue, planned_at(state)):
        return None
    if isinstance(about, Unreadable):
        return waits(host, f"its text cannot be read: {about.problem.what}")
    if not may_label(host, issue.author):
        # Whoever wrote it can edit it at any time, and may not order what is built.
        return waits(host, "what it said then is not known: its author may have changed it since")
    return about.prd if isinstance(about, Subject) else None


def was_labelled_since(host: Host, issue: Issue, at: str) -> bool:
    """By somebody who may."""
    given = host.hub.label_given(issue.number, host.config.labels.trigger)
    if given is None or not given.at or datetime.fromisoformat(given.at) <= datetime.fromisoformat(at):
        return False
    return may_label(host, given.by)


def planned_at(state: BranchState) -> str:
    """When the run began that made the last plan: a label that was given while it planned came too late for it."""
    store = state.store
    for commit in first_parents(store.git, state.commit):
        step = step_of(commit)
        if step is not None and step.phase is Phase.PLAN:
            made = store.load(commit.sha)
            ids = made.run_ids()  # each begins with its time
            run = made.run(ids[-1]) if ids else None
            return run.started_at if run else commit.at
    return state.store.git.commit_info(state.commit).at


def waits(host: Host, why: str) -> Rest:
    label = host.config.labels.trigger
    return Rest(
        "waiting",
        f"the issue was labelled again and was not planned since; {why}. Nothing is built for what it said before",
        f"read the issue, then take the label `{label}` away and give it again",
    )
