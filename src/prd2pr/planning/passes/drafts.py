"""Answer models of the four planning passes: small, typed and bounded in size."""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Annotated, TypeVar

from pydantic import AfterValidator, Field

from prd2pr.domain.records import Record, StoryKind

MAX_CYCLES = 40
MAX_TASKS = 20  # stories per cycle
MAX_POINTS = 20  # questions or assumptions per answer
MAX_NUMBER = 100_000

SizedValue = TypeVar("SizedValue", bound=Sized)


def _limit_length(most: int) -> Callable[[SizedValue], SizedValue]:
    """Limit the length in a validator rather than in the JSON schema, where it would cost tokens in each call."""

    def check(value: SizedValue) -> SizedValue:
        if len(value) > most:
            raise ValueError(f"has {len(value)} entries, at most {most} are allowed")
        return value

    return check


def _check_count(value: int) -> int:
    if not 0 <= value <= MAX_NUMBER:
        raise ValueError(f"must be from 0 to {MAX_NUMBER}")
    return value


Count = Annotated[int, AfterValidator(_check_count)]
Name = Annotated[str, AfterValidator(_limit_length(120))]
Ids = Annotated[tuple[Name, ...], AfterValidator(_limit_length(200))]
Line = Annotated[str, AfterValidator(_limit_length(400))]
Paragraph = Annotated[str, AfterValidator(_limit_length(2000))]


class OpenQuestion(Record):
    about: Ids = Field(default=(), description="Ids of the requirements that it is about.")
    text: Paragraph = Field(description="One question that a person can answer in a sentence.")


Questions = Annotated[
    tuple[OpenQuestion, ...],
    AfterValidator(_limit_length(MAX_POINTS)),
    Field(description="Contradictions, and what only a person can decide."),
]
Assumptions = Annotated[
    tuple[Paragraph, ...],
    AfterValidator(_limit_length(MAX_POINTS)),
    Field(description="What you took for granted where the PRD is silent, one sentence each."),
]


class CycleDraft(Record):
    key: Line = Field(description="Short unique name, as in c1; `depends_on` refers to it.")
    title: Line = Field(description="One line: what users can do once it is built.")
    requirements: Ids = Field(description="Ids of the PRD's requirements that are built here.")
    depends_on: Ids = Field(default=(), description="Keys of the cycles whose code this one calls.")


class CyclesDraft(Record):
    """Pass 1: the requirements in groups, in working order."""

    cycles: Annotated[tuple[CycleDraft, ...], AfterValidator(_limit_length(MAX_CYCLES))] = Field(
        description="In the order in which to build them."
    )
    questions: Questions = ()
    assumptions: Assumptions = ()


class TaskDraft(Record):
    key: Line = Field(description="Short unique name, as in s1; `depends_on` refers to it.")
    title: Line = Field(description="One line of at most 80 characters that names the behavior.")
    description: Paragraph = Field(description="What is true afterwards, and why; two or three sentences.")
    kind: StoryKind = Field(default="feature", description="docs, config and chore need no tests; the others do.")
    requirements: Ids = Field(description="Ids of this cycle that the story fulfils, acceptance criteria too.")
    depends_on: Ids = Field(default=(), description="Keys of stories of this cycle that must be done first.")
    files: Ids = Field(default=(), description="At most three source files to write or change; no tests.")
    complexity: int = Field(ge=1, le=10, description="1 trivial, 4 takes some thought, 7 or more: split it.")
    tests: Count = Field(description="How many tests will prove it: 5 to 20.")
    lines: Count = Field(description="How many lines of source will change: fewer than 100.")
    minutes: Count = Field(description="Time for a practised engineer.")


class OmittedRequirement(Record):
    requirement: Line = Field(description="Id of a requirement of this cycle.")
    why: Paragraph = Field(description="What a person has to say before anything can be planned for it.")


class TasksDraft(Record):
    """Pass 2: the stories of one cycle."""

    tasks: Annotated[tuple[TaskDraft, ...], AfterValidator(_limit_length(MAX_TASKS))] = Field(
        description="In the order in which to build them."
    )
    left_out: Annotated[tuple[OmittedRequirement, ...], AfterValidator(_limit_length(200))] = Field(
        default=(), description="Requirements of this cycle that no story can fulfil as they are."
    )
    questions: Questions = ()
    assumptions: Assumptions = ()


class CriterionText(Record):
    text: Paragraph = Field(description="GIVEN … WHEN … THEN …, or one checkable sentence.")
    example: Paragraph = Field(
        default="", description="Values and the exact result: goods for 41.50 EUR earn 41 points."
    )
    requirements: Ids = Field(default=(), description="Ids of the story's requirements that it checks.")


class StoryCriteria(Record):
    story: Line = Field(description="The story's key, as it is listed.")
    criteria: Annotated[tuple[CriterionText, ...], AfterValidator(_limit_length(20))] = Field(
        description="Two to five, including those that are already listed."
    )


class CriteriaDraft(Record):
    """Pass 3: acceptance criteria."""

    stories: Annotated[tuple[StoryCriteria, ...], AfterValidator(_limit_length(2 * MAX_TASKS))] = Field(
        description="Every listed story, once."
    )
    questions: Questions = ()
    assumptions: Assumptions = ()


class HintDraft(Record):
    story: Line = Field(description="The story's key, as it is listed.")
    interface: Paragraph = Field(default="", description="Signatures that others will call, one per line.")
    source_paths: Ids = Field(default=(), description="Only where the listed files are not right.")
    module: Line = Field(default="", description="Only with `source_paths`: shop.points.")
    test_ideas: Annotated[tuple[Line, ...], AfterValidator(_limit_length(12))] = Field(
        default=(), description="Cases that are easily forgotten, one line each."
    )


class HintsDraft(Record):
    """Pass 4: hints for the harder stories, about interfaces, files and test cases."""

    stories: Annotated[tuple[HintDraft, ...], AfterValidator(_limit_length(2 * MAX_TASKS))] = Field(
        description="Every listed story, once."
    )
