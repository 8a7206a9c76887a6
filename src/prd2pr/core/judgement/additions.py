"""Criteria that a role adds to a plan. They are the story's like any other: RED has to test them.

A story takes five; what is more, and what a story that asks for no tests is to show, becomes a story that follows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pydantic import Field

from prd2pr.core.backlog_ids import next_number
from prd2pr.core.plan import PlanLimits
from prd2pr.core.records import UNTESTED_KINDS, Backlog, Criterion, Prd, Record, Story

LIMITS = PlanLimits()


class CriterionAnswer(Record):
    text: str = Field(min_length=1, max_length=400, description="One checkable sentence about what a caller observes.")
    example: str = Field(default="", max_length=400, description="Concrete input and the exact result.")


class Wanted(NamedTuple):
    story: str
    criterion: CriterionAnswer


def with_criteria(prd: Prd, backlog: Backlog, wanted: Iterable[Wanted], *, aspect: str) -> Backlog:
    """`aspect` names in a title what a story that has to be added is about: security, what the user sees."""
    by_story: dict[str, list[CriterionAnswer]] = {}
    for each in wanted:
        by_story.setdefault(each.story, []).append(each.criterion)
    stories: list[Story] = []
    number = next_number(prd.id, backlog)
    for story in backlog.stories:
        fitting, left = divided(story, by_story.get(story.id, []))
        stories.append(with_more(story, fitting))
        if left:
            stories.append(following(prd, story, left, number, aspect))
            number += 1
    return backlog.model_copy(update={"stories": tuple(stories)})


def divided(
    story: Story, wanted: Sequence[CriterionAnswer]
) -> tuple[Sequence[CriterionAnswer], Sequence[CriterionAnswer]]:
    """What the story can take, and what goes into another one. What it says already is not said twice."""
    said = {flat(each.text) for each in story.criteria}
    new = {flat(each.text): each for each in wanted if flat(each.text) not in said}
    fresh = list(new.values())[: LIMITS.criteria]
    room = 0 if story.kind in UNTESTED_KINDS else LIMITS.criteria - len(story.criteria)
    return fresh[:room], fresh[room:]


def with_more(story: Story, criteria: Sequence[CriterionAnswer]) -> Story:
    if not criteria:
        return story
    first = len(story.criteria) + 1
    return story.model_copy(update={"criteria": (*story.criteria, *numbered(story.id, criteria, first))})


def following(prd: Prd, story: Story, criteria: Sequence[CriterionAnswer], number: int, aspect: str) -> Story:
    name = f"{prd.id}-{number}"
    title = f"{aspect}: {story.title}"
    return story.model_copy(
        update={
            "id": name,
            "title": title if len(title) <= LIMITS.title_length else f"{title[: LIMITS.title_length - 1].rstrip()}…",
            "description": f"What {story.id} has to hold as well.",
            "kind": "feature",
            "criteria": numbered(name, criteria, 1),
            "depends_on": (story.id,),
            "test_ideas": (),
            "verify_only": False,
        }
    )


def numbered(story: str, criteria: Sequence[CriterionAnswer], first: int) -> tuple[Criterion, ...]:
    return tuple(
        Criterion(id=f"{story}.c{n}", text=flat(each.text), example=each.example)
        for n, each in enumerate(criteria, start=first)
    )


def flat(text: str) -> str:
    return " ".join(text.split())
