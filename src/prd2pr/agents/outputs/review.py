"""Review: whether each criterion of a story is met, judged independently of the authors of tests and code.

A required criterion that is not met blocks the story. Other remarks are kept and shown.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from prd2pr.domain.records import Record, Story
from prd2pr.domain.wording import clip

Level = Literal["must", "should", "nice"]
MET, NOT_MET, NOT_REVIEWED = "met", "not met", "not reviewed"
MAX_EVIDENCE = 300
CONTINUE_HINT = "If you continue with the same code, it is not reviewed again."


class CriterionReview(Record):
    criterion: str = Field(max_length=140, description="Id of the criterion.")
    met: bool
    evidence: str = Field(
        min_length=1, max_length=600, description="Test and line of code that show it; or what breaks it, with values."
    )
    level: Level = Field(
        default="must", description="How much it matters if it is not met: must, unless the criterion says less."
    )


class ReviewRemark(Record):
    level: Literal["should", "nice"]
    what: str = Field(max_length=400)
    where: str = Field(default="", max_length=300, description="path, or path:line")


class ReviewAnswer(Record):
    """The judgment of each criterion of the story, and other remarks."""

    criteria: tuple[CriterionReview, ...] = Field(max_length=12)
    remarks: tuple[ReviewRemark, ...] = Field(default=(), max_length=10)
    summary: str = Field(max_length=600)


def find_review_problems(answer: ReviewAnswer, story: Story) -> tuple[str, ...]:
    wanted = [criterion.id for criterion in story.criteria]
    given = [each.criterion for each in answer.criteria]
    return (
        *(f"`{name}` is not a criterion of {story.id}" for name in given if name not in wanted),
        *(f"`{name}` is missing from the answer" for name in wanted if name not in given),
        *(f"`{name}` is in the answer twice" for name in dict.fromkeys(given) if given.count(name) > 1),
    )


def list_blocking_criteria(answer: ReviewAnswer) -> tuple[CriterionReview, ...]:
    return tuple(each for each in answer.criteria if not each.met and each.level == "must")


def format_review_verdict(answer: ReviewAnswer) -> str:
    return NOT_MET if list_blocking_criteria(answer) else MET


def format_blocking_reason(answer: ReviewAnswer) -> str:
    """Explain why the story is blocked, with the evidence of the first criterion and the ids of the others."""
    first, *others = list_blocking_criteria(answer)
    also = f" (and {', '.join(each.criterion for each in others)})" if others else ""
    return f"Review: {first.criterion} is not met{also}: {clip(' '.join(first.evidence.split()), MAX_EVIDENCE)}"
