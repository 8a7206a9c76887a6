"""What the four passes answer. Each is small and typed, and bounded in what it may hold."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from prd2pr.core.records import Record, StoryKind

MOST_CYCLES = 40
MOST_TASKS = 20  # of one cycle
MOST_POINTS = 20  # questions, or assumptions, of one answer

Ids = Annotated[tuple[Annotated[str, Field(max_length=80)], ...], Field(max_length=200)]
Line = Annotated[str, Field(max_length=400)]
Paragraph = Annotated[str, Field(max_length=2000)]


class OpenQuestion(Record):
    about: Ids = Field(default=(), description="Ids of the requirements that it is about.")
    text: Paragraph = Field(description="One question that a person can answer in a sentence.")


Questions = Annotated[
    tuple[OpenQuestion, ...],
    Field(max_length=MOST_POINTS, description="Contradictions, and what only a person can decide."),
]
Assumptions = Annotated[
    tuple[Paragraph, ...],
    Field(max_length=MOST_POINTS, description="What you took for granted where the PRD is silent, one sentence each."),
]


class CycleDraft(Record):
    key: Line = Field(description="Short unique name, as in c1; `depends_on` refers to it.")
    title: Line = Field(description="One line: what users can do once it is built.")
    requirements: Ids = Field(description="Ids of the PRD's requirements that are built here.")
    depends_on: Ids = Field(default=(), description="Keys of the cycles whose code this one calls.")


class CyclesDraft(Record):
    """Pass 1: the requirements in groups, in working order."""

    cycles: tuple[CycleDraft, ...] = Field(max_length=MOST_CYCLES, description="In the order in which to build them.")
    questions: Questions = ()
    assumptions: Assumptions = ()


class TaskDraft(Record):
    key: Line = Field(description="Short unique name, as in s1; `depends_on` refers to it.")
    title: Line = Field(description="One line of at most 80 characters that names the behaviour.")
    description: Paragraph = Field(description="What is true afterwards, and why; two or three sentences.")
    kind: StoryKind = Field(default="feature", description="docs, config and chore need no tests; the others do.")
    requirements: Ids = Field(description="Ids of this cycle that the story fulfils, acceptance criteria too.")
    depends_on: Ids = Field(default=(), description="Keys of stories of this cycle that must be done before.")
    files: Ids = Field(default=(), description="At most three source files to write or change; no tests.")
    complexity: int = Field(ge=1, le=10, description="1 trivial, 4 takes some thought, 7 or more: split it.")
    tests: int = Field(ge=0, le=1000, description="How many tests will prove it: 5 to 20.")
    lines: int = Field(ge=0, le=100_000, description="How many lines of source will change: less than 100.")
    minutes: int = Field(ge=0, le=100_000, description="Time for a practised engineer.")


class LeftOut(Record):
    requirement: Line = Field(description="Id of a requirement of this cycle.")
    why: Paragraph = Field(description="What a person has to say before anything can be planned for it.")


class TasksDraft(Record):
    """Pass 2: the stories of one cycle."""

    tasks: tuple[TaskDraft, ...] = Field(max_length=MOST_TASKS, description="In the order in which to build them.")
    left_out: tuple[LeftOut, ...] = Field(
        default=(), max_length=200, description="Requirements of this cycle that no story can fulfil as they are."
    )
    questions: Questions = ()
    assumptions: Assumptions = ()


class CriterionText(Record):
    text: Paragraph = Field(description="GIVEN … WHEN … THEN …, or one checkable sentence.")
    example: Paragraph = Field(default="", description="Concrete input and the exact result: earn(4150) == 41.")


class StoryCriteria(Record):
    story: Line = Field(description="The story's key, as it is listed.")
    criteria: tuple[CriterionText, ...] = Field(max_length=20, description="Two to five.")


class CriteriaDraft(Record):
    """Pass 3: acceptance criteria."""

    stories: tuple[StoryCriteria, ...] = Field(max_length=MOST_TASKS * 2, description="Every listed story, once.")
    questions: Questions = ()
    assumptions: Assumptions = ()


class HintDraft(Record):
    story: Line = Field(description="The story's key, as it is listed.")
    module: Line = Field(default="", description="Importable module in which the behaviour lives: shop.points.")
    interface: Paragraph = Field(default="", description="Signatures that others will call, one a line.")
    source_paths: Ids = Field(default=(), description="At most three source files to write or change; no tests.")
    test_ideas: tuple[Line, ...] = Field(
        default=(), max_length=12, description="Borders and error cases that are easily forgotten, one line each."
    )


class HintsDraft(Record):
    """Pass 4: where the harder stories go, and what their tests should not forget."""

    stories: tuple[HintDraft, ...] = Field(max_length=MOST_TASKS * 2, description="Every listed story, once.")
