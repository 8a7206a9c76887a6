"""Criteria that a role adds to a plan. RED has to test them like all others.

A story can have five criteria. Further ones, and those of a story without tests, become a follow-up story.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pydantic import Field

from prd2pr.domain.backlog_ids import find_next_number
from prd2pr.domain.records import UNTESTED_KINDS, Backlog, Criterion, Prd, Record, Story
from prd2pr.planning.plan import PlanLimits

LIMITS = PlanLimits()


class CriterionAnswer(Record):
    text: str = Field(min_length=1, max_length=400, description="One checkable sentence about what a caller observes.")
    example: str = Field(default="", max_length=400, description="Concrete input and the exact result.")


class RequestedCriterion(NamedTuple):
    story: str
    criterion: CriterionAnswer


def add_requested_criteria(prd: Prd, backlog: Backlog, wanted: Iterable[RequestedCriterion], *, aspect: str) -> Backlog:
    """Add the criteria to their stories. `aspect` is the title prefix of follow-up stories."""
    by_story: dict[str, list[CriterionAnswer]] = {}
    for each in wanted:
        by_story.setdefault(each.story, []).append(each.criterion)
    stories: list[Story] = []
    number = find_next_number(prd.id, backlog)
    for story in backlog.stories:
        fitting, surplus = split_by_capacity(story, by_story.get(story.id, []))
        stories.append(append_criteria(story, fitting))
        if surplus:
            stories.append(build_follow_up_story(prd, story, surplus, number, aspect))
            number += 1
    return backlog.model_copy(update={"stories": tuple(stories)})


def split_by_capacity(
    story: Story, wanted: Sequence[CriterionAnswer]
) -> tuple[Sequence[CriterionAnswer], Sequence[CriterionAnswer]]:
    """Split new criteria into those that fit into the story and those for another one, dropping duplicates."""
    existing = {collapse_whitespace(each.text) for each in story.criteria}
    new = {collapse_whitespace(each.text): each for each in wanted if collapse_whitespace(each.text) not in existing}
    fresh = list(new.values())[: LIMITS.criteria]
    room = 0 if story.kind in UNTESTED_KINDS else LIMITS.criteria - len(story.criteria)
    return fresh[:room], fresh[room:]


def append_criteria(story: Story, criteria: Sequence[CriterionAnswer]) -> Story:
    if not criteria:
        return story
    first = len(story.criteria) + 1
    return story.model_copy(update={"criteria": (*story.criteria, *number_criteria(story.id, criteria, first))})


def build_follow_up_story(
    prd: Prd, story: Story, criteria: Sequence[CriterionAnswer], number: int, aspect: str
) -> Story:
    name = f"{prd.id}-{number}"
    title = f"{aspect}: {story.title}"
    return story.model_copy(
        update={
            "id": name,
            "title": title if len(title) <= LIMITS.title_length else f"{title[: LIMITS.title_length - 1].rstrip()}…",
            "description": f"Further criteria of {story.id}.",
            "kind": "feature",
            "criteria": number_criteria(name, criteria, 1),
            "depends_on": (story.id,),
            "test_ideas": (),
            "verify_only": False,
        }
    )


def number_criteria(story: str, criteria: Sequence[CriterionAnswer], first: int) -> tuple[Criterion, ...]:
    return tuple(
        Criterion(id=f"{story}.c{n}", text=collapse_whitespace(each.text), example=each.example)
        for n, each in enumerate(criteria, start=first)
    )


def collapse_whitespace(text: str) -> str:
    return " ".join(text.split())
