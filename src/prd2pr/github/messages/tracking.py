"""The tracking issue, which shows the progress of all stories and the last runs, and a sub-issue for each story."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from prd2pr.domain.forge import BotIdentities, Issue, is_same_text
from prd2pr.domain.records import Prd, RunRecord, Story
from prd2pr.domain.wording import clean_line, clip
from prd2pr.github.messages.markers import STORY_MARK
from prd2pr.state.commit_message import neutralize_references
from prd2pr.views.models import MAX_TITLE, Column, NextStep, StoryCard
from prd2pr.views.pull_request.models import PullRequestView

MAX_TITLE_LENGTH = 200
TRACKING_PREFIX = "prd2pr: "
MAX_RUNS = 10
MAX_STORIES = 200
MAX_SUB_ISSUES = 100  # GitHub's limit for one issue
MAX_NEW_ISSUES = 20  # per run; below GitHub's limit per minute


@dataclass(frozen=True)
class TrackingView:
    pr: PullRequestView
    pull: int | None
    next: NextStep
    issues: Mapping[str, int]  # numbers of the story issues
    runs: tuple[RunRecord, ...]  # newest first
    runs_in_all: int

    @property
    def stories(self) -> tuple[StoryCard, ...]:
        return self.pr.board[:MAX_STORIES]


def build_tracking_view(
    pull_view: PullRequestView,
    runs: Sequence[RunRecord],
    pull: int | None,
    issues: Mapping[str, Issue],
    following: NextStep,
) -> TrackingView:
    return TrackingView(
        pr=pull_view,
        pull=pull,
        next=following,
        issues={story: issue.number for story, issue in issues.items()},
        runs=tuple(reversed(runs[-MAX_RUNS:])),
        runs_in_all=len(runs),
    )


def map_story_issues(issues: Iterable[Issue], prd: str, ours: BotIdentities) -> dict[str, Issue]:
    """Map stories to their issues by marker.

    Only the first issue that the bot created is used, because anyone can copy a marker.
    """
    found: dict[str, Issue] = {}
    for issue in issues:
        mark = STORY_MARK.match(issue.body)
        if mark and mark[1] == prd and issue.author in ours:
            found.setdefault(mark[2], issue)
    return found


def list_stories_without_issue(stories: Sequence[Story], there: Mapping[str, Issue]) -> tuple[Story, ...]:
    """List the stories that get an issue now, up to the limit: active stories first, finished ones last.

    Stories that were planned and built in one run get closed issues, as a record.
    """
    missing = [s for s in stories if s.id not in there and s.status != "skipped"]
    missing.sort(key=lambda story: (story.status == "done", story.status != "in_progress"))
    return tuple(missing[: max(0, min(MAX_NEW_ISSUES, MAX_SUB_ISSUES - len(there)))])


def is_reused_issue(issue: Issue, story: Story, text: str, earlier: frozenset[str]) -> bool:
    """Return whether the issue belongs to an earlier story with this id. An issue that a person renamed does not count.

    `earlier` contains the titles of all stories that had this id on the branch.
    """
    if issue.title == format_story_title(story) or is_same_text(issue.body, text):
        return False
    return not issue.open or issue.title in earlier


def list_settled_story_ids(
    pull_view: PullRequestView, stories: Sequence[Story], there: Iterable[str]
) -> frozenset[str]:
    """Return the stories whose issue can be closed: settled ones, and those that are no longer in the plan."""
    settled = {row.id for row in pull_view.board if row.column is Column.COMPLETE}
    return frozenset(settled | (set(there) - {story.id for story in stories}))


# --- titles: they end up in merge messages, where GitHub acts on keywords and mentions --------------------------------


def format_pull_title(pull_view: PullRequestView) -> str:
    return clip_title(pull_view.title)


def list_prd_titles(prds: Iterable[Prd]) -> frozenset[str]:
    """Return the titles that we give to a PRD's pull request and tracking issue.

    All other titles were chosen by people.
    """
    names = {clip(clean_line(prd.title), MAX_TITLE) or prd.id for prd in prds}
    return frozenset(clip_title(text) for name in names for text in (name, f"{TRACKING_PREFIX}{name}"))


def format_story_title(story: Story) -> str:
    return clip_title(f"{story.id}: {story.title}")


def format_tracking_title(pull_view: PullRequestView) -> str:
    return clip_title(f"{TRACKING_PREFIX}{pull_view.title}")


def clip_title(text: str) -> str:
    return clip(neutralize_references(clean_line(text)), MAX_TITLE_LENGTH)
