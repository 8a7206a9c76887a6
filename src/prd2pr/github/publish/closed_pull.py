"""Publish once that a pull request was closed or merged, in its status comment, labels and tracking issue."""

from __future__ import annotations

from prd2pr.domain.forge import Comment, Pull, is_same_text
from prd2pr.errors import HubProblem
from prd2pr.github.context import GitHubContext
from prd2pr.github.event_prds import Subject, find_prd_by_id
from prd2pr.github.messages.closed_pull_text import ClosedView, HaltedView, count_settled
from prd2pr.github.messages.markers import make_marker, read_sha_marker
from prd2pr.github.messages.rendering import render_closed_text, render_halted_text
from prd2pr.github.messages.status import get_state_label, list_state_label_names
from prd2pr.github.outcome import PrdOutcome
from prd2pr.state.store import BranchState, StateStore


def publish_closed(context: GitHubContext, subject: Subject, pull: Pull, head: str | None) -> bool:
    """Publish that the pull request was closed. Return False if that was published before.

    The comment is updated last. From then on, changes by people are not overwritten.
    """
    try:
        found = context.hub.find_comment(pull.number, make_marker("status", subject.id))
        if found is None:
            return False
        text = render_closed_text(
            build_closed_view(context, subject, pull, head), marks=list_kept_markers(subject, found)
        )
        if is_same_text(found.body, text):
            return False
        set_closed_labels(context, pull)
        close_tracking_issue(context, subject, pull)
        context.hub.edit_comment(found.id, text)
    except HubProblem as problem:
        context.progress.say("note", text=f"could not report on GitHub that #{pull.number} is closed: {problem.what}")
        return False
    return True


def publish_halted(context: GitHubContext, subject: Subject, pull: Pull, why: PrdOutcome) -> bool:
    """Publish that the branch of an open pull request was deleted, force-pushed or edited.

    Return False if that was published before. The markers are kept, so that the last pushed step stays known.
    """
    try:
        found = context.hub.find_comment(pull.number, make_marker("status", subject.id))
        if found is None:
            return False
        text = render_halted_text(HaltedView(pull.title, why.reason, why.next), marks=list_kept_markers(subject, found))
        if is_same_text(found.body, text):
            return False
        labels = context.config.labels
        context.hub.set_labels(pull.number, (get_state_label(labels, "waiting"),), list_state_label_names(labels))
        context.hub.edit_comment(found.id, text)
    except HubProblem as problem:
        context.progress.say("note", text=f"could not report on GitHub that #{pull.number} is waiting: {problem.what}")
        return False
    return True


def list_kept_markers(subject: Subject, found: Comment) -> list[str]:
    """Return the markers that are needed to continue after the pull request is reopened."""
    head, checked = read_sha_marker("head", found.body), read_sha_marker("checked", found.body)
    marks = [make_marker("head", head) if head else "", make_marker("checked", checked) if checked else ""]
    return [make_marker("status", subject.id), *filter(None, marks)]


def suggest_step_after_close(context: GitHubContext, subject: Subject, pull: Pull, head: str | None) -> str:
    return build_closed_view(context, subject, pull, head).next_step


def build_closed_view(context: GitHubContext, subject: Subject, pull: Pull, head: str | None) -> ClosedView:
    """Build the view from the branch, or from the merged state if the branch was deleted after the merge."""
    store = StateStore(context.git, subject.id)
    at = head or (context.base_commit if pull.merged else None)
    state = store.load(at) if at else None
    known = state if state is not None and state.planned else None
    return ClosedView(
        title=known.prd.title if known and known.prd else pull.title,
        pull=pull.number,
        base=pull.base,
        branch=pull.head,
        merged=pull.merged,
        branch_there=head is not None,
        path=find_prd_path(context, subject, known),
        stories=len(known.backlog.stories) if known else 0,
        settled=count_settled(known.backlog) if known else 0,
    )


def find_prd_path(context: GitHubContext, subject: Subject, known: BranchState | None) -> str:
    """Return the path of the PRD's file, which remains even if a reverted merge removed the state."""
    if subject.issue is not None:
        return ""
    if known is not None and known.prd is not None:
        return known.prd.path
    there = find_prd_by_id(context, subject.id)
    return there.prd.path if there is not None and there.prd is not None else ""


def set_closed_labels(context: GitHubContext, pull: Pull) -> None:
    """Remove the state labels, except the one for done on a merged pull request."""
    labels = context.config.labels
    done = (get_state_label(labels, "done"),) if pull.merged and labels.done in pull.labels else ()
    context.hub.set_labels(pull.number, done, list_state_label_names(labels))


def close_tracking_issue(context: GitHubContext, subject: Subject, pull: Pull) -> None:
    """Close the tracking issue after a merge.

    If an issue is the PRD itself, GitHub closes it through the description.
    """
    if not pull.merged or subject.issue is not None or context.config.tracker.kind == "none":
        return
    tracking = context.hub.find_issue(make_marker("tracking", subject.id))
    if tracking is not None and tracking.open:
        context.hub.edit_issue(tracking.number, closed=True)
