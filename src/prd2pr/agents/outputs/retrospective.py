"""Retrospective: lessons of a PRD. The numbers are counted by code (`memory.lessons`); a model may interpret them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from prd2pr.domain.records import Record
from prd2pr.domain.wording import count

MAX_ENTRIES = 8


class NewPattern(Record):
    name: str = Field(max_length=80, description="Short, as people would call it.")
    description: str = Field(max_length=500, description="What later work should do, and when.")
    example: str = Field(default="", max_length=300, description="path, or path:line, of code that does it.")


class RetrospectiveAnswer(Record):
    """The lessons for the next PRD."""

    surprises: tuple[str, ...] = Field(default=(), max_length=MAX_ENTRIES, description="What deviated from the plan.")
    would_change: tuple[str, ...] = Field(
        default=(), max_length=MAX_ENTRIES, description="What to do differently, and where."
    )
    new_patterns: tuple[NewPattern, ...] = Field(
        default=(), max_length=4, description="Practices that worked well here; may be empty."
    )
    spike_accuracy: float | None = Field(
        default=None, ge=0, le=100, description="How well experiments predicted what was built; null without any."
    )


@dataclass(frozen=True)
class StoryFacts:
    """The effort, attempts and refusals of one story."""

    id: str
    title: str
    estimated_minutes: float
    actual_minutes: float
    attempts: int  # over all phases
    refused: tuple[str, ...] = ()  # finding codes, once for each refused attempt
    status: str = "done"


def format_story_facts(stories: Sequence[StoryFacts]) -> str:
    """Format one line per story, for the role that interprets them."""
    return "\n".join(
        f"{each.id} ({each.status}) {each.title}: estimated {each.estimated_minutes:g} min, took "
        f"{each.actual_minutes:.1f} min of runner time, {count(each.attempts, 'attempt')}"
        + (f", refused by {', '.join(each.refused)}" if each.refused else "")
        for each in stories
    )


def format_retrospective_verdict(answer: RetrospectiveAnswer) -> str:
    return f"{count(len(answer.would_change), 'change')} proposed, {count(len(answer.new_patterns), 'new pattern')}"
