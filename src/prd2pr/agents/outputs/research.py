"""Research: existing code, two approaches, and open technical questions."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from prd2pr.domain.records import Record

MAX_EXPERIMENTS = 2


class PriorArt(Record):
    path: str = Field(max_length=300, description="A file of the repository.")
    what: str = Field(max_length=300, description="Which part of it is used, followed or changed.")


class Approach(Record):
    name: str = Field(max_length=80)
    how: str = Field(max_length=800, description="Where the code goes and how it works, in two to four sentences.")
    gains: str = Field(max_length=300)
    risks: str = Field(max_length=300)


class ResearchQuestion(Record):
    question: str = Field(max_length=300, description="One question with a checkable answer.")
    why: str = Field(max_length=300, description="What in the plan depends on it.")
    needs_experiment: bool = Field(
        description="true only if running a few lines of code here gives the answer, and the answer changes the plan."
    )


class ResearchAnswer(Record):
    """The information that a planner needs before it plans stories."""

    prior_art: tuple[PriorArt, ...] = Field(default=(), max_length=12)
    approaches: tuple[Approach, ...] = Field(min_length=2, max_length=2, description="Two ways that really differ.")
    recommended: Literal[1, 2] = Field(description="Which of the two.")
    because: str = Field(max_length=500)
    unknowns: tuple[ResearchQuestion, ...] = Field(default=(), max_length=8)

    @property
    def recommended_approach(self) -> Approach:
        return self.approaches[self.recommended - 1]


def select_experiments(answer: ResearchAnswer, most: int = MAX_EXPERIMENTS) -> tuple[ResearchQuestion, ...]:
    return tuple(each for each in answer.unknowns if each.needs_experiment)[:most]


def drop_missing_prior_art(answer: ResearchAnswer, paths: frozenset[str]) -> ResearchAnswer:
    """Drop prior art that is not in the repository."""
    return answer.model_copy(update={"prior_art": tuple(each for each in answer.prior_art if each.path in paths)})
