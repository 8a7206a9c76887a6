"""A pull request that was closed or merged: status comment, labels and tracking issue say so, once."""

from __future__ import annotations

from prd2pr.core.hub import Comment, Pull, same_text
from prd2pr.core.outcome import Ending
from prd2pr.core.said.markers import checked_in, checked_marker, head_in, head_marker, status_marker, tracking_marker
from prd2pr.core.said.over import HaltedView, OverView, settled_stories
from prd2pr.core.said.status import state_label, state_names
from prd2pr.errors import HubProblem
from prd2pr.flows.host import Host
from prd2pr.flows.subjects import Subject, with_id
from prd2pr.forges.said import halted_text, over_text
from prd2pr.repo.store import BranchState, StateStore


def show_over(host: Host, subject: Subject, pull: Pull, head: str | None) -> bool:
    """Whether it was news. The comment comes last: once it says so, all is shown, and what people change afterwards
    stays changed."""
    try:
        found = host.hub.comment_marked(pull.number, status_marker(subject.id))
        if found is None:
            return False
        text = over_text(over_view(host, subject, pull, head), marks=marks_of(subject, found))
        if same_text(found.body, text):
            return False
        show_labels(host, pull)
        close_tracking(host, subject, pull)
        host.hub.edit_comment(found.id, text)
    except HubProblem as problem:
        host.progress.say("note", text=f"#{pull.number} could not be shown as closed: {problem.what}")
        return False
    return True


def show_halted(host: Host, subject: Subject, pull: Pull, why: Ending) -> bool:
    """An open pull request whose branch somebody deleted, forced back or wrote into: whether that was news. The marks
    stay, so that the last step that was pushed is still known."""
    try:
        found = host.hub.comment_marked(pull.number, status_marker(subject.id))
        if found is None:
            return False
        text = halted_text(HaltedView(pull.title, why.reason, why.next), marks=marks_of(subject, found))
        if same_text(found.body, text):
            return False
        labels = host.config.labels
        host.hub.set_labels(pull.number, (state_label(labels, "waiting"),), state_names(labels))
        host.hub.edit_comment(found.id, text)
    except HubProblem as problem:
        host.progress.say("note", text=f"#{pull.number} could not be shown as waiting: {problem.what}")
        return False
    return True


def marks_of(subject: Subject, found: Comment) -> list[str]:
    """By which the work goes on where it was, should somebody open it again."""
    head, checked = head_in(found.body), checked_in(found.body)
    marks = [head_marker(head) if head else "", checked_marker(checked) if checked else ""]
    return [status_marker(subject.id), *filter(None, marks)]


def way_on(host: Host, subject: Subject, pull: Pull, head: str | None) -> str:
    return over_view(host, subject, pull, head).way_on


def over_view(host: Host, subject: Subject, pull: Pull, head: str | None) -> OverView:
    """From the branch; where it was deleted after the merge, from what was merged."""
    store = StateStore(host.git, subject.id, host.branch_of(subject.id))
    at = head or (host.base_commit if pull.merged else None)
    state = store.load(at) if at else None
    known = state if state is not None and state.planned else None
    return OverView(
        title=known.prd.title if known and known.prd else pull.title,
        pull=pull.number,
        base=pull.base,
        branch=pull.head,
        merged=pull.merged,
        branch_there=head is not None,
        path=path_of(host, subject, known),
        stories=len(known.backlog.stories) if known else 0,
        settled=settled_stories(known.backlog) if known else 0,
    )


def path_of(host: Host, subject: Subject, known: BranchState | None) -> str:
    """Of a PRD that is a file; a merge that was reverted took the state away, and left the file."""
    if subject.issue is not None:
        return ""
    if known is not None and known.prd is not None:
        return known.prd.path
    there = with_id(host, subject.id)
    return there.prd.path if there is not None and there.prd is not None else ""


def show_labels(host: Host, pull: Pull) -> None:
    """Nothing waits or is at work any more. What was done when it was merged stays so."""
    labels = host.config.labels
    done = (state_label(labels, "done"),) if pull.merged and labels.done in pull.labels else ()
    host.hub.set_labels(pull.number, done, state_names(labels))


def close_tracking(host: Host, subject: Subject, pull: Pull) -> None:
    """An issue that was the PRD is closed by the host itself: the description says so."""
    if not pull.merged or subject.issue is not None or host.config.tracker.kind == "none":
        return
    tracking = host.hub.issue_marked(tracking_marker(subject.id))
    if tracking is not None and tracking.open:
        host.hub.edit_issue(tracking.number, closed=True)
