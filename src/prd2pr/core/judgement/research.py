"""Research: what exists already, two ways to do it, and what nobody knows yet."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from prd2pr.core.records import Record

MOST_EXPERIMENTS = 2


class PriorArt(Record):
    path: str = Field(max_length=300, description="A file of the repository.")
    what: str = Field(max_length=300, description="What of it is used, followed or changed.")


class Approach(Record):
    name: str = Field(max_length=80)
    how: str = Field(max_length=800, description="Where the code goes and how it works, in two to four sentences.")
    gains: str = Field(max_length=300)
    risks: str = Field(max_length=300)


class Unknown(Record):
    question: str = Field(max_length=300, description="One question with a checkable answer.")
    why: str = Field(max_length=300, description="What in the plan hangs on it.")
    needs_experiment: bool = Field(
        description="true only if the answer can be had by running a few lines of code here, and changes the plan."
    )


class ResearchAnswer(Record):
    """What a planner should know before it cuts stories."""

    prior_art: tuple[PriorArt, ...] = Field(default=(), max_length=12)
    approaches: tuple[Approach, ...] = Field(min_length=2, max_length=2, description="Two ways that really differ.")
    recommended: Literal[1, 2] = Field(description="Which of the two.")
    because: str = Field(max_length=500)
    unknowns: tuple[Unknown, ...] = Field(default=(), max_length=8)

    @property
    def chosen(self) -> Approach:
        return self.approaches[self.recommended - 1]


def experiments(answer: ResearchAnswer, most: int = MOST_EXPERIMENTS) -> tuple[Unknown, ...]:
    return tuple(each for each in answer.unknowns if each.needs_experiment)[:most]


def found_there(answer: ResearchAnswer, paths: frozenset[str]) -> ResearchAnswer:
    """Prior art that is not in the repository is none."""
    return answer.model_copy(update={"prior_art": tuple(each for each in answer.prior_art if each.path in paths)})
