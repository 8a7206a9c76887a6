"""Retrospective: what a PRD taught. The numbers are counted by code (`core.memory.makers`); a model may say what they
mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from prd2pr.core.records import Record
from prd2pr.core.wording import count

MOST = 8


class NewPattern(Record):
    name: str = Field(max_length=80, description="Short, as people would call it.")
    description: str = Field(max_length=500, description="What later work is to do, and when.")
    example: str = Field(default="", max_length=300, description="path, or path:line, of code that does it.")


class RetrospectiveAnswer(Record):
    """What the next PRD should know."""

    surprises: tuple[str, ...] = Field(default=(), max_length=MOST, description="What came otherwise than planned.")
    would_change: tuple[str, ...] = Field(default=(), max_length=MOST, description="What to do differently, and where.")
    new_patterns: tuple[NewPattern, ...] = Field(
        default=(), max_length=4, description="Ways of doing things that proved themselves here; none is fine."
    )
    spike_accuracy: float | None = Field(
        default=None, ge=0, le=100, description="How far experiments foretold what was built; null without any."
    )


@dataclass(frozen=True)
class StoryFacts:
    """How one story went."""

    id: str
    title: str
    estimated_minutes: float
    actual_minutes: float
    attempts: int  # at all phases
    refused: tuple[str, ...] = ()  # codes of findings, once for each refused attempt
    status: str = "done"


def facts_text(stories: Sequence[StoryFacts]) -> str:
    """A line for each story, for the role that says what it means."""
    return "\n".join(
        f"{each.id} ({each.status}) {each.title}: estimated {each.estimated_minutes:g} min, took "
        f"{each.actual_minutes:.1f} min of runner time, {count(each.attempts, 'attempt')}"
        + (f", refused by {', '.join(each.refused)}" if each.refused else "")
        for each in stories
    )


def verdict(answer: RetrospectiveAnswer) -> str:
    return f"{count(len(answer.would_change), 'change')} proposed, {count(len(answer.new_patterns), 'new pattern')}"
