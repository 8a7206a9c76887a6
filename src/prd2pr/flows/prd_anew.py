"""What a PRD says where it comes from: when a run begins, and again before it would change a plan.

A run can take hours. Where the PRD is pushed meanwhile and planned by another run, the text that it has is an old one.
"""

from __future__ import annotations

from dataclasses import replace

from prd2pr.core.decide import Rest
from prd2pr.core.records import Prd
from prd2pr.flows.host import Host
from prd2pr.flows.over_already import OnHost
from prd2pr.flows.relabelled import labelled_anew
from prd2pr.flows.session import Outdated, Session
from prd2pr.flows.subjects import Subject, file_subject, with_id


def session_now(found: OnHost) -> Session:
    anew = labelled_anew(found)
    prd = anew if isinstance(anew, Prd) else prd_now(found)
    session = found.host.open_session(prd, found.subject.issue)
    session = replace(session, taken_anew=lambda held: taken_anew(found, held))
    return replace(session, outdated=Outdated(prd.blob, anew)) if isinstance(anew, Rest) else session


def prd_now(found: OnHost) -> Prd:
    """What was pushed or labelled; else the file as the base branch has it; else what the branch was planned from.

    An issue can be edited by whoever wrote it, so once it is planned only a new label brings its new text in.
    """
    host, subject = found.host, found.subject
    if subject.prd is not None:
        return subject.prd
    planned = planned_prd(found)
    assert planned is not None, "over_already has looked, and a PRD without a branch is begun by its text"
    if subject.issue is not None:
        return planned
    here = host.git.read(host.base_commit, planned.path) is not None
    there = file_subject(host, planned.path) if here else with_id(host, subject.id)
    same = isinstance(there, Subject) and there.id == subject.id
    return there.prd if same and isinstance(there, Subject) and there.prd else planned


def planned_prd(found: OnHost) -> Prd | None:
    return found.state(found.head).prd if found.head is not None else None


def taken_anew(found: OnHost, session: Session) -> Session:
    """The same session with what the PRD says by now. `found`: as it was when the run began."""
    host = at_base_now(found.host)
    head = host.git.branch_head(session.branch)
    now = OnHost(host, replace(found.subject, prd=None), head, found.pull)
    if planned_prd(now) is None:
        return session
    prd = of_issue(found, now, session) if found.subject.issue is not None else prd_now(now)
    return replace(session, prd=prd, base_commit=host.base_commit)


def of_issue(found: OnHost, now: OnHost, session: Session) -> Prd:
    """What a label brought in stands, unless another run planned the issue meanwhile and no label came after that."""
    before, planned = planned_prd(found), planned_prd(now)
    assert planned is not None, "the caller has looked"
    if before is not None and before.blob == planned.blob:
        return session.prd
    anew = labelled_anew(now)
    if anew is None:
        return planned
    return found.subject.prd or (anew if isinstance(anew, Prd) else planned)


def at_base_now(host: Host) -> Host:
    head = host.remote.head(host.base_branch)
    if head is None:
        return host
    if not host.git.has_commit(head):
        host.remote.fetch(head, host.base_branch)
    return replace(host, base_commit=head)
