"""Complete a PRD: its records are packed, and a readable summary stays in the tree."""

from __future__ import annotations

from collections.abc import Callable

from prd2pr.domain.decision import Decision
from prd2pr.domain.machines.branch_records import BranchRecords
from prd2pr.domain.records import (
    SETTLED,
    Backlog,
    Cycle,
    Document,
    Prd,
    ProjectState,
    Record,
    Story,
    StoryStatus,
)
from prd2pr.planning.decisions.records import DecisionEffect, DecisionOutcome, Objection

COMPLETED = "the PRD is complete"
ENDED_STATES = (ProjectState.SPRINT_REVIEW, ProjectState.IDLE)


def complete_prd(found: BranchRecords, _decision: Decision) -> DecisionEffect:
    """Return no changes: completing a PRD packs its records, but changes none of them."""
    if not found.backlog.stories or any(story.status not in SETTLED for story in found.backlog.stories):
        return Objection("not all stories are finished")
    if found.status.state not in ENDED_STATES:
        return Objection("the sprint is not over")
    return DecisionOutcome(found.status, found.backlog)


# --- the summary ------------------------------------------------------------------------------------------------------

SHOWN_STORIES = 30  # so that the summary has at most 40 lines


class BuiltStory(Record):
    id: str
    title: str
    status: StoryStatus
    requirements: tuple[str, ...]
    steps: int
    tests: int


class CompletionSummary(Document):
    """A summary of what was built for a PRD, stored as `summary.json`."""

    prd: str
    title: str
    path: str
    requirements: int
    stories: tuple[BuiltStory, ...]
    more_stories: int = 0


def summarize_prd(prd: Prd, backlog: Backlog, get_cycle: Callable[[str], Cycle | None]) -> CompletionSummary:
    shown = backlog.stories[:SHOWN_STORIES]
    return CompletionSummary(
        prd=prd.id,
        title=prd.title,
        path=prd.path,
        requirements=len(prd.requirements),
        stories=tuple(summarize_story(story, get_cycle(story.id)) for story in shown),
        more_stories=len(backlog.stories) - len(shown),
    )


def summarize_story(story: Story, cycle: Cycle | None) -> BuiltStory:
    return BuiltStory(
        id=story.id,
        title=story.title,
        status=story.status,
        requirements=story.requirements,
        steps=len(cycle.steps) if cycle else 0,
        tests=len(cycle.tests) if cycle else 0,
    )
