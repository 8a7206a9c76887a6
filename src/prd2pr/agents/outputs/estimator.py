"""Estimator: three estimates for each story, multiplied by the correction factor of earlier estimates."""

from __future__ import annotations

from pydantic import Field

from prd2pr.domain.records import Backlog, Record, Story
from prd2pr.domain.wording import count
from prd2pr.memory.correction_factor import CorrectionFactor


class StoryEstimate(Record):
    story: str = Field(max_length=120, description="Id of a story of the plan.")
    optimistic: int = Field(ge=1, le=10_000, description="Minutes, if all goes well.")
    likely: int = Field(ge=1, le=10_000, description="Minutes, most probably.")
    pessimistic: int = Field(ge=1, le=10_000, description="Minutes, if the foreseeable problems occur.")
    complexity: int = Field(ge=1, le=10, description="1 trivial, 10 the hardest.")
    why: str = Field(default="", max_length=300)


class EstimateAnswer(Record):
    """The minutes that an engineer needs for each story: design, tests and code."""

    stories: tuple[StoryEstimate, ...] = Field(max_length=200)


def compute_three_point_estimate(optimistic: float, likely: float, pessimistic: float) -> float:
    """Return the weighted mean (1:4:1). The values are sorted first, because a model may mix them up."""
    low, middle, high = sorted((optimistic, likely, pessimistic))
    return (low + 4 * middle + high) / 6


def format_estimate_verdict(learnt: CorrectionFactor) -> str:
    """Describe the correction factor that was applied to a plan's estimates."""
    return f"times {learnt.minutes:.2f}, learnt from {count(learnt.timed, 'story')}"


def apply_estimates(backlog: Backlog, answer: EstimateAnswer | None, factor: float | None) -> Backlog:
    """Apply the estimates and the correction factor to the plan. Without them, the plan is unchanged."""
    given = {each.story: each for each in answer.stories} if answer else {}
    stories = tuple(_apply_estimate(story, given.get(story.id), factor) for story in backlog.stories)
    return backlog if stories == backlog.stories else backlog.model_copy(update={"stories": stories})


def _apply_estimate(story: Story, given: StoryEstimate | None, factor: float | None) -> Story:
    if given is None and factor is None:
        return story
    minutes = (
        compute_three_point_estimate(given.optimistic, given.likely, given.pessimistic)
        if given
        else story.estimate_minutes
    )
    changed: dict[str, float] = {"estimate_minutes": max(1, round(minutes * (factor or 1)))}
    changed |= {"guessed_minutes": minutes} if factor is not None else {}
    return story.model_copy(update={**changed, **({"complexity": given.complexity} if given else {})})
