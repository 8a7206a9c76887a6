"""The current text of a PRD, at the start of a run and again before the run would change a plan.

A run can take hours, and another run may have planned a newer text in the meantime.
"""

from __future__ import annotations

from dataclasses import replace

from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.records import Prd
from prd2pr.github.context import GitHubContext
from prd2pr.github.event_prds import Subject, find_prd_by_id, read_prd_file
from prd2pr.github.issue_relabel import find_prd_after_relabel
from prd2pr.github.preconditions import RemotePrd
from prd2pr.workflow.session import OutdatedPlan, Session


def open_current_session(found: RemotePrd) -> Session:
    relabelled = find_prd_after_relabel(found)
    prd = relabelled if isinstance(relabelled, Prd) else load_current_prd(found)
    session = found.context.open_session(prd, found.subject.issue)
    session = replace(session, host=replace(session.host, reload_prd=lambda held: reload_prd(found, held)))
    return (
        replace(session, host=replace(session.host, outdated_plan=OutdatedPlan(prd.blob, relabelled)))
        if isinstance(relabelled, NoAction)
        else session
    )


def load_current_prd(found: RemotePrd) -> Prd:
    """Return the PRD's text: as pushed or labeled, or else from the base branch, or else as it was planned.

    An issue's author can edit it at any time. After it was planned, a new text is used only after a new label.
    """
    context, subject = found.context, found.subject
    if subject.prd is not None:
        return subject.prd
    planned = read_prd_at_head(found)
    assert planned is not None, "check_preconditions requires a branch or a text"
    if subject.issue is not None:
        return planned
    here = context.git.read(context.base_commit, planned.path) is not None
    there = read_prd_file(context, planned.path) if here else find_prd_by_id(context, subject.id)
    same = isinstance(there, Subject) and there.id == subject.id
    return there.prd if same and isinstance(there, Subject) and there.prd else planned


def read_prd_at_head(found: RemotePrd) -> Prd | None:
    return found.state_at(found.head).prd if found.head is not None else None


def reload_prd(found: RemotePrd, session: Session) -> Session:
    """Return the session with the current text of the PRD. `found` is the PRD at the start of the run."""
    context = with_current_base(found.context)
    head = context.git.branch_head(session.target.branch)
    now = RemotePrd(context, replace(found.subject, prd=None), head, found.pull)
    if read_prd_at_head(now) is None:
        return session
    prd = load_issue_prd(found, now, session) if found.subject.issue is not None else load_current_prd(now)
    return replace(session, prd=prd, target=replace(session.target, base_commit=context.base_commit))


def load_issue_prd(found: RemotePrd, now: RemotePrd, session: Session) -> Prd:
    """Keep the labeled text, unless another run has planned the issue and no label was added after that."""
    before, planned = read_prd_at_head(found), read_prd_at_head(now)
    assert planned is not None, "the caller checked it"
    if before is not None and before.blob == planned.blob:
        return session.prd
    relabelled = find_prd_after_relabel(now)
    if relabelled is None:
        return planned
    return found.subject.prd or (relabelled if isinstance(relabelled, Prd) else planned)


def with_current_base(context: GitHubContext) -> GitHubContext:
    head = context.remote.head(context.base_branch)
    if head is None:
        return context
    if not context.git.has_commit(head):
        context.remote.fetch(head, context.base_branch)
    return replace(context, base_commit=head)
