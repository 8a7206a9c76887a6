"""The tracking issue and, below it, an issue for each story. A PRD that is an issue tracks itself, in one comment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from prd2pr.core.commit_message import StepRef
from prd2pr.core.hub import Issue, same_text
from prd2pr.core.records import Phase, RunRecord, Story
from prd2pr.core.said.markers import story_marker, tracking_marker
from prd2pr.core.said.tracking import (
    by_story,
    is_another,
    settled_stories,
    story_title,
    titles_of,
    tracking_title,
    tracking_view,
    wanted_stories,
)
from prd2pr.flows.joins import branch_line
from prd2pr.flows.peoples_work import step_of
from prd2pr.flows.start import is_another_round, start_of
from prd2pr.forges.said import story_issue_text, tracking_text

if TYPE_CHECKING:
    from prd2pr.flows.show import Showing


def show_tracking(showing: Showing, pull: int) -> Issue | None:
    tracker = showing.config.tracker
    if tracker.kind == "none" or not (showing.at_rest or showing.just_planned):
        return None
    parent, ours = parent_issue(showing, pull)
    if parent is None:
        return None
    below = tracker.sub_issues
    issues = showing.attempt("a story's issue", lambda: show_stories(showing, parent, pull)) if below else None
    text = text_of(showing, pull, issues or {})
    if ours:
        show_body(showing, parent, text)
    else:
        show_comment(showing, parent, text)
    return parent


def text_of(showing: Showing, pull: int, issues: dict[str, Issue]) -> str:
    state, following = showing.state, showing.view(None).next
    runs = [run for run_id in state.run_ids() if (run := state.run(run_id)) is not None]
    runs.sort(key=started)
    view = tracking_view(showing.picture, runs, pull, issues, following)
    return tracking_text(view, marker=tracking_marker(showing.prd.id))


def started(run: RunRecord) -> str:
    return run.started_at


def parent_issue(showing: Showing, pull: int) -> tuple[Issue | None, bool]:
    """The issue that stories hang below, and whether its text is ours to write."""
    if showing.issue is not None:
        return showing.hub.issue(showing.issue), False
    marker = tracking_marker(showing.prd.id)
    there = showing.hub.issue_marked(marker)
    if there is None:
        there = showing.hub.open_issue(tracking_title(showing.picture), text_of(showing, pull, {}), (), marker=marker)
    elif not there.open and showing.just_planned and another_round(showing):
        showing.hub.edit_issue(there.number, closed=False)
        there = replace(there, open=True)
    return there, True


def another_round(showing: Showing) -> bool:
    """The merge before has closed it."""
    session = showing.seen.session
    return is_another_round(session.store, showing.head, session.base_commit)


def titles_given(showing: Showing) -> frozenset[str]:
    """By the PRD's titles so far, as the branch was planned."""
    store = showing.seen.session.store
    plans = (store.load(sha).prd for sha, step in steps_so_far(showing) if step.phase is Phase.PLAN)
    return titles_of(prd for prd in plans if prd is not None)


def earlier_titles(showing: Showing, story: str) -> frozenset[str]:
    store = showing.seen.session.store
    backlogs = (store.load(sha).backlog for sha, _ in steps_so_far(showing))
    return frozenset(story_title(each) for backlog in backlogs for each in backlog.stories if each.id == story)


def steps_so_far(showing: Showing) -> Iterator[tuple[str, StepRef]]:
    for commit in branch_line(showing.git, start_of(showing.git, showing.head).commit, showing.head):
        step = step_of(commit)
        if step is not None:
            yield commit.sha, step


def show_body(showing: Showing, parent: Issue, text: str) -> None:
    title = tracking_title(showing.picture)
    if parent.open and parent.title != title and parent.title in titles_given(showing):
        showing.hub.edit_issue(parent.number, title=title)
    if parent.open and not same_text(parent.body, text):
        showing.hub.edit_issue(parent.number, body=text)


def show_comment(showing: Showing, parent: Issue, text: str) -> None:
    marker = tracking_marker(showing.prd.id)
    there = showing.hub.comment_marked(parent.number, marker)
    if there is None:
        showing.hub.comment(parent.number, text, marker=marker)
    elif not same_text(there.body, text):
        showing.hub.edit_comment(there.id, text)


def show_stories(showing: Showing, parent: Issue, pull: int) -> dict[str, Issue]:
    issues = by_story(showing.hub.sub_issues(parent.number), showing.prd.id, showing.hub.ours())
    for story in wanted_stories(showing.state.backlog.stories, issues):
        issues[story.id] = open_story(showing, parent, story, pull)
    showing.more |= bool(wanted_stories(showing.state.backlog.stories, issues))
    settled = settled_stories(showing.picture, showing.state.backlog.stories, issues)
    issues |= dict(written_anew(showing, issues, pull, settled))
    for story_id, issue in issues.items():
        # Closed when settled. One that a person closed earlier stays closed: the board says how it really is.
        if issue.open and story_id in settled:
            showing.hub.edit_issue(issue.number, closed=True)
        elif not issue.open and story_id not in settled and closed_by_us(showing, issue):
            showing.hub.edit_issue(issue.number, closed=False)
    return issues


def closed_by_us(showing: Showing, issue: Issue) -> bool:
    """Begun again, then: nobody but us said that nothing was left to do."""
    return issue.closed_by is not None and issue.closed_by in showing.hub.ours()


def written_anew(
    showing: Showing, issues: dict[str, Issue], pull: int, settled: frozenset[str]
) -> Iterator[tuple[str, Issue]]:
    """An id that was free again, and is another story's now."""
    for story in showing.state.backlog.stories:
        issue, title = issues.get(story.id), story_title(story)
        if issue is None or issue.title == title:
            continue
        text = story_issue_text(story, showing.prd, pull, marker=story_marker(showing.prd.id, story.id))
        if is_another(issue, story, text, earlier_titles(showing, story.id)):
            showing.hub.edit_issue(issue.number, title=title, body=text, closed=story.id in settled)
            yield story.id, replace(issue, title=title, body=text, open=story.id not in settled)


def open_story(showing: Showing, parent: Issue, story: Story, pull: int) -> Issue:
    marker = story_marker(showing.prd.id, story.id)
    text = story_issue_text(story, showing.prd, pull, marker=marker)
    made = showing.hub.open_issue(story_title(story), text, (), marker=marker)
    showing.hub.add_sub_issue(parent.number, made)
    return made
