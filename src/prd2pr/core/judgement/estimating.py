"""Estimator: three estimates for each story, times what earlier estimates turned out to be worth."""

from __future__ import annotations

from pydantic import Field

from prd2pr.core.memory.factor import CorrectionFactor
from prd2pr.core.records import Backlog, Record, Story
from prd2pr.core.wording import count


class StoryEstimate(Record):
    story: str = Field(max_length=120, description="Id of a story of the plan.")
    optimistic: int = Field(ge=1, le=10_000, description="Minutes, if all goes well.")
    likely: int = Field(ge=1, le=10_000, description="Minutes, most probably.")
    pessimistic: int = Field(ge=1, le=10_000, description="Minutes, if what can go wrong does.")
    complexity: int = Field(ge=1, le=10, description="1 trivial, 10 the hardest.")
    why: str = Field(default="", max_length=300)


class EstimateAnswer(Record):
    """What each story takes a practised engineer: design, tests, code."""

    stories: tuple[StoryEstimate, ...] = Field(max_length=200)


def three_point(optimistic: float, likely: float, pessimistic: float) -> float:
    """The likely one counts four times; put in order first, since nobody promises that they are."""
    low, middle, high = sorted((optimistic, likely, pessimistic))
    return (low + 4 * middle + high) / 6


def verdict(learnt: CorrectionFactor) -> str:
    """What becomes of the minutes; it stands behind them wherever a plan is shown."""
    return f"times {learnt.minutes:.2f}, learnt from {count(learnt.timed, 'story')}"


def corrected(backlog: Backlog, answer: EstimateAnswer | None, factor: float | None) -> Backlog:
    """The plan with what its stories will probably take. Where nothing is known, it stays as it is."""
    given = {each.story: each for each in answer.stories} if answer else {}
    stories = tuple(_corrected(story, given.get(story.id), factor) for story in backlog.stories)
    return backlog if stories == backlog.stories else backlog.model_copy(update={"stories": stories})


def _corrected(story: Story, given: StoryEstimate | None, factor: float | None) -> Story:
    if given is None and factor is None:
        return story
    minutes = three_point(given.optimistic, given.likely, given.pessimistic) if given else story.estimate_minutes
    changed: dict[str, float] = {"estimate_minutes": max(1, round(minutes * (factor or 1)))}
    changed |= {"guessed_minutes": minutes} if factor is not None else {}
    return story.model_copy(update={**changed, **({"complexity": given.complexity} if given else {})})
