"""Publish the state of the branch on GitHub. Publishing twice changes nothing.

The pull request comes first, because everything else refers to it, followed by checks, tracking issue and labels. Next
is the status comment, which names the parts that failed, and last the comment that asks a person to act. A part that
fails does not stop the others. The tracking issue and the check of the branch are published only at the end of the run,
because a job's token has 1,000 calls per hour.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from typing import TypeVar

from prd2pr.domain.forge import Comment, Issue, Pull, is_same_text
from prd2pr.github.client.hub import GitHubHub
from prd2pr.github.messages.markers import DESCRIPTION_BEGINS, DESCRIPTION_ENDS, make_marker, read_sha_marker
from prd2pr.github.messages.rendering import render_action_needed_text, render_status_text, render_summary_text
from prd2pr.github.messages.status import (
    LABEL_STATES,
    Headline,
    StatusView,
    get_state_label,
    list_state_label_names,
)
from prd2pr.github.messages.tracking import format_pull_title
from prd2pr.github.publish.checks import publish_checks
from prd2pr.github.publish.context import Publication, PublishedLinks, PublishRequest
from prd2pr.github.publish.plan_comment import ask_about_removed, publish_plan, request_approval
from prd2pr.github.publish.proof import mark_refuted
from prd2pr.github.publish.tracking import list_earlier_pull_titles, publish_tracking
from prd2pr.reports.pull_request import build_pull_request_view
from prd2pr.reports.rendering import render_body
from prd2pr.state.archive import Archive
from prd2pr.state.branch_base import is_started_after_merge
from prd2pr.state.git import Git
from prd2pr.state.store import BranchState
from prd2pr.state.work_ref import build_work_ref, read_published_head
from prd2pr.verification.commit_check import BranchRefutation
from prd2pr.views.models import SETTLED_TONES
from prd2pr.views.pull_request.models import HeldCommits, PullRequestView
from prd2pr.views.untrusted_text import BODY_LIMIT, BodyTooLong
from prd2pr.workflow.next_action import find_branch_action
from prd2pr.workflow.session import Session

T = TypeVar("T")
RUN_LINK = re.compile(r"/actions/runs/\d+")
# Headlines of a branch whose claims were verified.
HEADLINES_WITH_PROOF: tuple[Headline, ...] = ("done", "unjudged", "partly")
MAX_SUMMARY_BYTES = 1_000_000  # GitHub's limit is 1 MiB


# Descriptions without markers, from earlier versions, are entirely ours and recognized by their last line.
LAST_LINE = "Check it yourself: `prd2pr verify "


def split_description(there: str) -> tuple[str, str]:
    """Return the text before and after our part.

    If our part is missing, all text was written by people and comes before it.
    """
    text = there.replace("\r\n", "\n")
    before, begins, rest = text.partition(DESCRIPTION_BEGINS)
    _, ends, after = rest.rpartition(DESCRIPTION_ENDS)
    if begins and ends:
        return before.strip(), after.strip()
    return ("", "") if LAST_LINE in text else (text.strip(), "")


def merge_description(there: str, ours: str) -> str:
    """Insert our part between the texts that people wrote."""
    before, after = split_description(there)
    marked = f"{DESCRIPTION_BEGINS}\n{ours.strip()}\n{DESCRIPTION_ENDS}"
    return "\n\n".join(part for part in (before, marked, after) if part)


def count_foreign_characters(there: str) -> int:
    """Return the length of the text by people, which is not available for our part."""
    return len(merge_description(there, ""))


def publish(hub: GitHubHub, request: PublishRequest) -> PublishedLinks:
    """Publish all parts, and return the links and the parts that failed."""
    publication = open_publication(hub, request)
    pull = publication.attempt("the pull request", lambda: open_or_update_pull(publication))
    if pull is None or not pull.open:
        return PublishedLinks(pull, notes=tuple(publication.notes))
    number = pull.number
    found = publication.attempt(
        "the status comment", lambda: hub.find_comment(number, make_marker("status", publication.prd.id))
    )
    if found is not None and is_published_already(publication, pull, found):
        publication.attempt("the labels", lambda: set_state_labels(publication, pull))
        publication.attempt("the request to a person", lambda: notify_person(publication, pull))
        return PublishedLinks(pull, found, notes=tuple(publication.notes))
    checked = publication.attempt(
        "the checks", lambda: publish_checks(publication, read_sha_marker("checked", found.body) if found else "")
    )
    tracking = publication.attempt("the tracking issue", lambda: publish_tracking(publication, number))
    publication.is_complete = publication.is_stopped and not publication.notes and not publication.has_more
    publication.attempt("auto-merge", lambda: enable_auto_merge(publication, pull))
    publication.attempt("the labels", lambda: set_state_labels(publication, pull))
    comment = publication.attempt(
        "the status comment",
        lambda: publish_status(publication, pull, tracking, found, checked or find_last_check(found)),
    )
    publication.attempt("the request to a person", lambda: notify_person(publication, pull))
    return PublishedLinks(pull, comment, tracking, tuple(publication.notes))


def is_published_already(publication: Publication, pull: Pull, found: Comment) -> bool:
    """Return whether the status comment shows that this commit was published completely.

    In that case, a run without a request skips checks and issues. If the head, text or base differs, or a marker is
    missing, everything is published again.
    """
    marks = (find_current_shown_marker(publication, pull), make_marker_if_settled(publication))
    return publication.request.unrequested and publication.problem is None and all(mark in found.body for mark in marks)


def make_marker_if_settled(publication: Publication) -> str:
    """Return the marker that shows that the whole branch is proved, or an empty string if it is not."""
    if publication.headline not in HEADLINES_WITH_PROOF:
        return ""
    return make_marker("proved", publication.head, publication.request.session.target.base_commit)


def find_current_shown_marker(publication: Publication, pull: Pull) -> str:
    text = strip_run_link(render_status_text(publication.view(pull), marks=[]))
    return make_marker("shown", publication.head, hashlib.sha256(text.encode()).hexdigest()[:16])


def publish_cancellation(hub: GitHubHub, request: PublishRequest, tracking: Issue | None) -> None:
    """Update only the status comment, which still says that the bot is working. The job is killed within seconds."""
    publication = open_publication(hub, request)
    pull = hub.pull_for_branch(request.session.target.branch, publication.pull_view.base)
    if pull is not None and pull.open:
        found = hub.find_comment(pull.number, make_marker("status", publication.prd.id))
        publish_status(publication, pull, tracking, found, find_last_check(found))


def open_publication(hub: GitHubHub, request: PublishRequest) -> Publication:
    session = request.session
    head = session.git.rev(session.target.branch)
    published = read_published_head(session.git, session.target.branch) or head
    state = session.store.load(head)
    assert state.prd is not None, "only a planned PRD is shown"
    made = build_pull_view(session, state)
    if made.unproven and made.tone in SETTLED_TONES and request.problem is None:
        made = build_pull_view(session, state, held=request.passing_merges(head))
    found = session.host.refuted
    if found is not None:
        made = mark_refuted(build_pull_view(session, state, refuted=found), found)
    elif made.tone in SETTLED_TONES and request.problem is not None:
        made = replace(made, tone="blocked")  # verification itself may have failed, so nothing is certified
    elif made.tone in SETTLED_TONES:
        found = request.find_refuted(head)
        made = mark_refuted(build_pull_view(session, state, refuted=found), found) if found else made
    made = replace(made, held=find_held_commits(session.git, state.prd.id, published, head))
    publication = Publication(hub, request, published, state, state.prd, made, found)
    publication.pull_view = replace(made, next=publication.view(None).next)  # the same next step in all parts
    return publication


def find_held_commits(git: Git, prd: str, published: str, head: str) -> HeldCommits | None:
    if head == published:
        return None
    return HeldCommits(build_work_ref(prd, published), tuple(each.sha for each in git.log(f"{published}..{head}")))


def build_pull_view(
    session: Session, state: BranchState, *, held: frozenset[str] = frozenset(), refuted: BranchRefutation | None = None
) -> PullRequestView:
    return build_pull_request_view(
        session.store,
        session.target.branch,
        session.constraints.limits,
        head=state.commit,
        mode=session.constraints.approval,
        following=find_branch_action(session, state),
        rules=session.constraints.paths,
        patches=False,
        held=held,
        refuted=refuted.shas if refuted else frozenset(),
        living_docs=session.services.gathering.living_docs,
    )


# --- the pull request -------------------------------------------------------------------------------------------------


def open_or_update_pull(publication: Publication) -> Pull | None:
    """Open a draft pull request, or update the existing one.

    A closed pull request stays closed, and a title that a person changed is kept.
    """
    hub, pull_view = publication.hub, publication.pull_view
    there = hub.pull_for_branch(publication.request.session.target.branch, pull_view.base)
    done = is_ready_for_review(publication)
    if there is None or (there.merged and is_merged_earlier_round(publication, there)):
        text = build_description(publication, "")
        there = hub.open_pull(format_pull_title(pull_view), text, pull_view.head, pull_view.base, draft=not done)
    if there.open:
        if done:
            archive = Archive(publication.prd.id, str(there.number), publication.published)
            pull_view = publication.pull_view = replace(pull_view, archive=archive.line)
        title = format_pull_title(pull_view)
        if there.title != title and there.title in list_earlier_pull_titles(publication):
            there = replace(there, title=title)
            hub.edit_pull(there, title=title)
        text = build_description(publication, there.body)
        if not is_same_text(there.body, text):
            hub.edit_pull(there, body=text)
        update_draft_state(publication, there, done=done)
    return there


def build_description(publication: Publication, there: str) -> str:
    """Insert our part between the texts that people wrote.

    If there is too little room, the description stays unchanged.
    """
    room = BODY_LIMIT - count_foreign_characters(there)
    try:
        ours = render_body(
            publication.pull_view,
            commit_url=publication.request.commit_url,
            closes=publication.issue,
            limit=room,
            attested=publication.request.session.config.attest,
        )
    except BodyTooLong:
        return there
    return merge_description(there, ours)


def is_merged_earlier_round(publication: Publication, merged: Pull) -> bool:
    return is_started_after_merge(
        publication.git, publication.published, publication.request.session.target.base_commit, merged
    )


def update_draft_state(publication: Publication, pull: Pull, *, done: bool) -> None:
    """Mark the pull request as ready when all stories are finished, and as a draft when new ones are added.

    The state is set only at these two transitions, so that people can change it in between.
    """
    was_done = publication.config.labels.done in pull.labels
    if done != was_done and pull.draft is done:
        publication.hub.set_draft(pull, draft=not done)


def enable_auto_merge(publication: Publication, pull: Pull) -> None:
    """Enable auto-merge when the pull request becomes ready. It is not enabled again, so that people can disable it."""
    method = publication.config.auto_merge
    if method != "off" and is_ready_for_review(publication) and publication.config.labels.done not in pull.labels:
        publication.hub.enable_auto_merge(pull, method)


def is_ready_for_review(publication: Publication) -> bool:
    return LABEL_STATES[publication.headline] == "done"


# --- labels and comments ----------------------------------------------------------------------------------------------


def set_state_labels(publication: Publication, pull: Pull) -> None:
    names = list_state_label_names(publication.config.labels)
    wanted = get_state_label(publication.config.labels, publication.view(pull).headline)
    if {name for name in pull.labels if name in names} != {wanted.name}:
        publication.hub.set_labels(pull.number, (wanted,), names)


def find_last_check(found: Comment | None) -> str:
    return read_sha_marker("checked", found.body) if found else ""


def publish_status(
    publication: Publication, pull: Pull, tracking: Issue | None, found: Comment | None, checked: str
) -> Comment | None:
    marker = make_marker("status", publication.prd.id)
    whole = find_current_shown_marker(publication, pull) if publication.is_complete and not publication.notes else ""
    marks = [
        marker,
        make_marker("head", publication.published),
        make_marker("checked", checked) if checked else "",
        make_marker_if_settled(publication),
        whole,
    ]
    if publication.request.session.host.refuted is not None:
        marks = [marker]  # there is no accepted head, so the next run checks the whole branch
    text = render_status_text(publication.view(pull, tracking), marks=[mark for mark in marks if mark])
    if found is None:
        return publication.hub.comment(pull.number, text, marker=marker)
    if not is_same_text(strip_run_link(found.body), strip_run_link(text)):
        publication.hub.edit_comment(found.id, text)
    return found


def strip_run_link(text: str) -> str:
    """Remove the link to the run from a text, so that a run without changes does not edit the comment."""
    return RUN_LINK.sub("", text)


def notify_person(publication: Publication, pull: Pull) -> None:
    """Post a new comment, once for each action that a person must take.

    Nobody would be notified of an edited comment.
    """
    view = publication.view(pull)
    posted = False
    if publication.request.session.constraints.approval == "none" and (
        publication.just_planned or publication.is_stopped
    ):
        posted = publish_plan(publication, pull.number)
    if view.headline == "waiting":
        posted = request_approval(publication, pull.number) or posted
    if publication.just_planned and not posted:
        ask_about_removed(publication, pull.number)
    if view.headline == "waiting":
        return
    what = request_key(publication, view)
    if what:
        marker = make_marker("waiting", publication.prd.id, what)
        publication.hub.comment(pull.number, render_action_needed_text(view, marker=marker), marker=marker)


def request_key(publication: Publication, view: StatusView) -> str:
    """Return a key for the required action, by which later runs recognize that it was posted."""
    if view.headline == "blocked":
        blocked = [row for row in publication.pull_view.board if row.tone == "blocked"]
        tries = sum(each.story == blocked[0].id for each in publication.pull_view.refusals) if blocked else 0
        return f"blocked/{blocked[0].id}/{tries}" if blocked else f"blocked/{publication.head}"
    if view.headline in ("budget", "unproved"):
        return f"{view.headline}/{publication.head}"
    if view.headline == "stopped" and publication.request.problem and not publication.request.problem_reported:
        return f"problem/{publication.request.problem.code}/{publication.head}"
    return ""


# --- the job's summary ------------------------------------------------------------------------------------------------


def build_step_summary(request: PublishRequest, links: PublishedLinks, hub: GitHubHub) -> str:
    publication = open_publication(hub, request)
    publication.notes.extend(links.notes)
    view = publication.view(links.pull, links.tracking)
    text = render_summary_text(view, render_body(publication.pull_view, commit_url=request.commit_url, limit=400_000))
    return (
        text
        if len(text.encode()) <= MAX_SUMMARY_BYTES
        else render_summary_text(view, render_body(publication.pull_view, limit=60_000))
    )
