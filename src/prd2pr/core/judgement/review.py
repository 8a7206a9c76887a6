"""Review: each criterion of a story, met or not, by somebody who wrote neither tests nor code.

A criterion that must be met and is not blocks the story. What should or could be better is kept and shown.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from prd2pr.core.records import Record, Story
from prd2pr.core.wording import clip

Level = Literal["must", "should", "nice"]
MET, NOT_MET, NOT_REVIEWED = "met", "not met", "not reviewed"
LONGEST_EVIDENCE = 300
DECIDED = "Who goes on with this very code has decided: it is not reviewed again."


class CriterionReviewed(Record):
    criterion: str = Field(max_length=140, description="Id of the criterion.")
    met: bool
    evidence: str = Field(
        min_length=1, max_length=600, description="Test and line of code that show it; or what breaks it, with values."
    )
    level: Level = Field(
        default="must", description="How much it matters if it is not met: must, unless the criterion says less."
    )


class Remark(Record):
    level: Literal["should", "nice"]
    what: str = Field(max_length=400)
    where: str = Field(default="", max_length=300, description="path, or path:line")


class ReviewAnswer(Record):
    """One line for each criterion of the story, and what else is worth saying."""

    criteria: tuple[CriterionReviewed, ...] = Field(max_length=12)
    remarks: tuple[Remark, ...] = Field(default=(), max_length=10)
    summary: str = Field(max_length=600)


def problems(answer: ReviewAnswer, story: Story) -> tuple[str, ...]:
    wanted = [criterion.id for criterion in story.criteria]
    given = [each.criterion for each in answer.criteria]
    return (
        *(f"`{name}` is not a criterion of {story.id}" for name in given if name not in wanted),
        *(f"nothing is said about `{name}`" for name in wanted if name not in given),
        *(f"`{name}` stands there twice" for name in dict.fromkeys(given) if given.count(name) > 1),
    )


def blocking(answer: ReviewAnswer) -> tuple[CriterionReviewed, ...]:
    return tuple(each for each in answer.criteria if not each.met and each.level == "must")


def verdict(answer: ReviewAnswer) -> str:
    return NOT_MET if blocking(answer) else MET


def reason(answer: ReviewAnswer) -> str:
    """Why the story is blocked: the evidence of the first criterion, and which others."""
    first, *others = blocking(answer)
    also = f" (and {', '.join(each.criterion for each in others)})" if others else ""
    return f"Review: {first.criterion} is not met{also}: {clip(' '.join(first.evidence.split()), LONGEST_EVIDENCE)}"
