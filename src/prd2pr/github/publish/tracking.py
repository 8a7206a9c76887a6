"""Publish the tracking issue and an issue for each story below it.

If the PRD itself is an issue, a comment there shows the progress instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from prd2pr.domain.forge import Issue, is_same_text
from prd2pr.domain.records import Phase, Story
from prd2pr.github.messages.markers import make_marker
from prd2pr.github.messages.rendering import (
    render_story_evidence_text,
    render_story_issue_text,
    render_tracking_text,
)
from prd2pr.github.messages.status import get_story_label, list_story_label_names
from prd2pr.github.messages.tracking import (
    build_tracking_view,
    format_story_title,
    format_tracking_title,
    is_reused_issue,
    list_prd_titles,
    list_settled_story_ids,
    list_stories_without_issue,
    map_story_issues,
)
from prd2pr.state.branch_base import find_branch_start, is_follow_up_branch
from prd2pr.state.commit_message import StepRef
from prd2pr.workflow.human_commits import read_commit_step
from prd2pr.workflow.merges import list_branch_commits

if TYPE_CHECKING:
    from prd2pr.github.publish.context import Publication


def publish_tracking(publication: Publication, pull: int) -> Issue | None:
    tracker = publication.config.tracker
    if tracker.kind == "none" or not (publication.is_stopped or publication.just_planned):
        return None
    parent, ours = find_parent_issue(publication, pull)
    if parent is None:
        return None
    below = tracker.sub_issues
    issues = (
        publication.attempt("a story's issue", lambda: publish_story_issues(publication, parent, pull))
        if below
        else None
    )
    text = render_tracking_body(publication, pull, issues or {})
    if ours:
        update_tracking_issue(publication, parent, text)
    else:
        update_tracking_comment(publication, parent, text)
    return parent


def render_tracking_body(publication: Publication, pull: int, issues: dict[str, Issue]) -> str:
    state, following = publication.state, publication.view(None).next
    runs = [run for run_id in state.run_ids() if (run := state.run(run_id)) is not None]
    runs.sort(key=lambda run: (run.started_at, run.ended_at))  # two may start in the same second
    view = build_tracking_view(publication.pull_view, runs, pull, issues, following)
    return render_tracking_text(view, marker=make_marker("tracking", publication.prd.id))


def find_parent_issue(publication: Publication, pull: int) -> tuple[Issue | None, bool]:
    """Return the parent issue of the stories, and whether the bot wrote its text."""
    if publication.issue is not None:
        return publication.hub.issue(publication.issue), False
    marker = make_marker("tracking", publication.prd.id)
    there = publication.hub.find_issue(marker)
    if there is None:
        there = publication.hub.open_issue(
            format_tracking_title(publication.pull_view), render_tracking_body(publication, pull, {}), (), marker=marker
        )
    elif not there.open and publication.just_planned and is_tracking_reopened(publication):
        publication.hub.edit_issue(there.number, closed=False)
        there = replace(there, open=True)
    return there, True


def is_tracking_reopened(publication: Publication) -> bool:
    """Return whether the PRD is built again after a merge, which closed the tracking issue."""
    session = publication.request.session
    return is_follow_up_branch(session.store, publication.head, session.target.base_commit)


def list_earlier_pull_titles(publication: Publication) -> frozenset[str]:
    """Return the titles from all plans of the branch so far."""
    store = publication.request.session.store
    plans = (store.load(sha).prd for sha, step in list_steps_so_far(publication) if step.phase is Phase.PLAN)
    return list_prd_titles(prd for prd in plans if prd is not None)


def list_earlier_story_titles(publication: Publication, story: str) -> frozenset[str]:
    store = publication.request.session.store
    backlogs = (store.load(sha).backlog for sha, _ in list_steps_so_far(publication))
    return frozenset(format_story_title(each) for backlog in backlogs for each in backlog.stories if each.id == story)


def list_steps_so_far(publication: Publication) -> Iterator[tuple[str, StepRef]]:
    for commit in list_branch_commits(
        publication.git, find_branch_start(publication.git, publication.head).commit, publication.head
    ):
        step = read_commit_step(commit)
        if step is not None:
            yield commit.sha, step


def update_tracking_issue(publication: Publication, parent: Issue, text: str) -> None:
    title = format_tracking_title(publication.pull_view)
    if parent.open and parent.title != title and parent.title in list_earlier_pull_titles(publication):
        publication.hub.edit_issue(parent.number, title=title)
    if parent.open and not is_same_text(parent.body, text):
        publication.hub.edit_issue(parent.number, body=text)


def update_tracking_comment(publication: Publication, parent: Issue, text: str) -> None:
    marker = make_marker("tracking", publication.prd.id)
    there = publication.hub.find_comment(parent.number, marker)
    if there is None:
        publication.hub.comment(parent.number, text, marker=marker)
    elif not is_same_text(there.body, text):
        publication.hub.edit_comment(there.id, text)


def publish_story_issues(publication: Publication, parent: Issue, pull: int) -> dict[str, Issue]:
    issues = map_story_issues(publication.hub.sub_issues(parent.number), publication.prd.id, publication.hub.ours())
    for story in list_stories_without_issue(publication.state.backlog.stories, issues):
        issues[story.id] = open_story_issue(publication, parent, story, pull)
    publication.has_more |= bool(list_stories_without_issue(publication.state.backlog.stories, issues))
    settled = list_settled_story_ids(publication.pull_view, publication.state.backlog.stories, issues)
    issues |= dict(rewrite_reused_issues(publication, issues, pull, settled))
    for story_id, issue in issues.items():
        # An issue that a person closed early stays closed; the board shows the real state.
        if issue.open:
            label_story_issue(publication, story_id, issue)
        if issue.open and story_id in settled:
            finish_story_issue(publication, story_id, issue, pull)
        elif not issue.open and story_id not in settled and was_closed_by_bot(publication, issue):
            publication.hub.edit_issue(issue.number, closed=False)
    return issues


def label_story_issue(publication: Publication, story_id: str, issue: Issue) -> None:
    """Label the story's issue as to do, in progress, blocked or done. The issue of a dropped story gets no label."""
    names = list_story_label_names(publication.config.labels)
    card = next((card for card in publication.pull_view.board if card.id == story_id), None)
    is_built = card is not None and not is_dropped(publication, story_id)
    wanted = (get_story_label(publication.config.labels, card.column),) if card and is_built else ()
    if {name for name in issue.labels if name in names} != {label.name for label in wanted}:
        publication.hub.set_labels(issue.number, wanted, names)


def is_dropped(publication: Publication, story_id: str) -> bool:
    """Return whether the story was skipped or is no longer in the plan."""
    return all(story.id != story_id or story.status == "skipped" for story in publication.state.backlog.stories)


def finish_story_issue(publication: Publication, story_id: str, issue: Issue, pull: int) -> None:
    """Close the issue: after one comment with the evidence or, if the story is not built, as not planned."""
    dropped = is_dropped(publication, story_id)
    story = next((each for each in publication.pull_view.stories if each.id == story_id), None)
    if story is not None and not dropped:
        marker = make_marker("evidence", f"{publication.prd.id}/{story_id}")
        text = render_story_evidence_text(story, pull, publication.request.commit_url, marker=marker)
        publication.hub.comment(issue.number, text, marker=marker)
    publication.hub.edit_issue(issue.number, closed=True, planned=not dropped)


def was_closed_by_bot(publication: Publication, issue: Issue) -> bool:
    """Return whether the bot closed the issue, so that it may reopen it."""
    return issue.closed_by is not None and issue.closed_by in publication.hub.ours()


def rewrite_reused_issues(
    publication: Publication, issues: dict[str, Issue], pull: int, settled: frozenset[str]
) -> Iterator[tuple[str, Issue]]:
    """Rewrite each issue whose story id now belongs to a different story, and yield the id and the new issue."""
    for story in publication.state.backlog.stories:
        issue, title = issues.get(story.id), format_story_title(story)
        if issue is None or issue.title == title:
            continue
        text = render_story_issue_text(
            story, publication.prd, pull, marker=make_marker("story", f"{publication.prd.id}/{story.id}")
        )
        if is_reused_issue(issue, story, text, list_earlier_story_titles(publication, story.id)):
            publication.hub.edit_issue(issue.number, title=title, body=text, closed=story.id in settled)
            yield story.id, replace(issue, title=title, body=text, open=story.id not in settled)


def open_story_issue(publication: Publication, parent: Issue, story: Story, pull: int) -> Issue:
    marker = make_marker("story", f"{publication.prd.id}/{story.id}")
    text = render_story_issue_text(story, publication.prd, pull, marker=marker)
    made = publication.hub.open_issue(format_story_title(story), text, (), marker=marker)
    publication.hub.add_sub_issue(parent.number, made)
    return made
