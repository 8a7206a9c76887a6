"""The tracking issue: how far each story is, and the last runs. Below it, an issue for each story."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from prd2pr.core.commit_message import inert
from prd2pr.core.hub import Issue, Ours, same_text
from prd2pr.core.picture_parts import LONGEST_NAME, Figure, NextStep, PullPicture, StoryRow
from prd2pr.core.records import Prd, RunRecord, Story
from prd2pr.core.said.markers import STORY_MARK
from prd2pr.core.wording import clip, plain

LONGEST_TITLE = 200
TRACKING = "prd2pr: "
SHOWN_RUNS = 10
SHOWN_STORIES = 200
SUB_ISSUES = 100  # that GitHub allows below one issue
NEW_PER_RUN = 20  # issues: more in a minute is a flood, and GitHub's limit

SETTLED_WORDS = frozenset(
    {"proven", "done without tests", "already built, verified", "done without proof", "skipped", "aborted"}
)


@dataclass(frozen=True)
class TrackedStory:
    id: str
    title: str
    outcome: str
    settled: bool
    issue: int | None = None


@dataclass(frozen=True)
class TrackingView:
    title: str
    path: str
    pull: int | None
    figures: tuple[Figure, ...]
    next: NextStep
    stories: tuple[TrackedStory, ...]
    in_all: int
    runs: tuple[RunRecord, ...]  # the newest first
    runs_in_all: int


def tracking_view(
    picture: PullPicture, runs: Sequence[RunRecord], pull: int | None, issues: Mapping[str, Issue], following: NextStep
) -> TrackingView:
    tracked = tuple(tracked_story(row, issues.get(row.id)) for row in picture.board)
    return TrackingView(
        title=picture.title,
        path=picture.path,
        pull=pull,
        figures=picture.figures,
        next=following,
        stories=tracked[:SHOWN_STORIES],
        in_all=picture.stories_in_all,
        runs=tuple(reversed(runs[-SHOWN_RUNS:])),
        runs_in_all=len(runs),
    )


def tracked_story(row: StoryRow, issue: Issue | None) -> TrackedStory:
    return TrackedStory(row.id, row.title, row.outcome, row.outcome in SETTLED_WORDS, issue.number if issue else None)


def by_story(issues: Iterable[Issue], prd: str, ours: Ours) -> dict[str, Issue]:
    """Our story issues of this PRD, by the mark in their body. The first of two counts; others may copy a mark."""
    found: dict[str, Issue] = {}
    for issue in issues:
        mark = STORY_MARK.match(issue.body)
        if mark and mark[1] == prd and issue.author in ours:
            found.setdefault(mark[2], issue)
    return found


def wanted_stories(stories: Sequence[Story], there: Mapping[str, Issue]) -> tuple[Story, ...]:
    """Which get an issue now: those in hand first, those that are done last, as many as one run may make.

    What one run has planned and built gets its issues too, closed at once: they are the record of it.
    """
    missing = [s for s in stories if s.id not in there and s.status != "skipped"]
    missing.sort(key=lambda story: (story.status == "done", story.status != "in_progress"))
    return tuple(missing[: max(0, min(NEW_PER_RUN, SUB_ISSUES - len(there)))])


def is_another(issue: Issue, story: Story, text: str, earlier: frozenset[str]) -> bool:
    """The issue of a story that had this id before. One that a person called otherwise is left to him.

    `earlier`: the titles that stories of this id have had on the branch.
    """
    if issue.title == story_title(story) or same_text(issue.body, text):
        return False
    return not issue.open or issue.title in earlier


def settled_stories(picture: PullPicture, stories: Sequence[Story], there: Iterable[str]) -> frozenset[str]:
    """Whose issue has nothing left to wait for: the story is settled, or no longer in the plan."""
    settled = {row.id for row in picture.board if row.outcome in SETTLED_WORDS}
    return frozenset(settled | (set(there) - {story.id for story in stories}))


# --- titles: they go into messages of merges, where GitHub acts on what they hold -------------------------------------


def pull_title(picture: PullPicture) -> str:
    return title(picture.title)


def titles_of(prds: Iterable[Prd]) -> frozenset[str]:
    """What we may have called a pull request or a tracking issue. Whatever else it is called, a person chose."""
    names = {clip(plain(prd.title), LONGEST_NAME) or prd.id for prd in prds}
    return frozenset(title(text) for name in names for text in (name, f"{TRACKING}{name}"))


def story_title(story: Story) -> str:
    return title(f"{story.id}: {story.title}")


def tracking_title(picture: PullPicture) -> str:
    return title(f"{TRACKING}{picture.title}")


def title(text: str) -> str:
    return clip(inert(plain(text)), LONGEST_TITLE)
