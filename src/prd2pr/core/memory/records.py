"""The records of memory. Each is one file, written once and never edited, so that branches merge without conflict.

What can be told from other records is not kept again here: pipelines are read from backlog and cycles, the roles' calls
from the logs, sessions from the records of runs, files and symbols from the code.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from prd2pr.core.records import Document, Record


class Memory(Document):
    """`id` is the file's name; `at` says when it was learnt. `story` is empty for what is about a whole PRD."""

    kind: ClassVar[str]
    id: str
    prd: str
    story: str = ""
    at: str


class Failure(Memory):
    """What was tried and did not work, and what to do instead."""

    kind: ClassVar[str] = "failures"
    feature: str
    approach: str
    why_failed: str
    lesson: str
    phase: str = ""
    codes: tuple[str, ...] = ()


MOST = 10**9  # of minutes, sessions, lines: no story has more, and sums and quotients of such stay numbers


class EstimateRecord(Memory):
    """What a story was thought to take, and what it took. A session is one attempt at one phase."""

    kind: ClassVar[str] = "estimates"
    feature: str
    estimated_minutes: float = Field(ge=0, le=MOST)
    actual_minutes: float = Field(ge=0, le=MOST)
    estimated_sessions: int = Field(ge=0, le=MOST)
    actual_sessions: int = Field(ge=0, le=MOST)
    complexity: int = Field(ge=1, le=10)
    files_created: int = 0
    files_modified: int = 0
    tokens: int = 0
    usd: float | None = Field(default=None, ge=0, le=MOST)
    notes: str = ""


class Lesson(Memory):
    """A retrospective: of a sprint, or of a PRD that is done."""

    kind: ClassVar[str] = "retrospectives"
    feature: str
    surprises: tuple[str, ...] = ()
    would_change: tuple[str, ...] = ()
    new_patterns: tuple[str, ...] = ()  # ids of `Pattern`
    variance: float | None = None  # actual minutes ÷ estimated
    spike_accuracy: float | None = Field(default=None, ge=0, le=100)


class SpikeRecord(Memory):
    """One question, answered by a throw-away experiment that is never merged."""

    kind: ClassVar[str] = "spikes"
    feature: str
    question: str
    approach: str
    result: str
    viable: bool
    lessons: str = ""
    minutes: float = Field(default=0, ge=0, le=MOST)
    branch: str = ""


class LibraryNote(Memory):
    """What was looked up about a library, and until when it is believed."""

    kind: ClassVar[str] = "docs_cache"
    library: str
    version: str
    content: str
    source: str = ""
    expires_at: str


class FileMeasure(Record):
    path: str
    lines: int = Field(ge=0, le=MOST)
    functions: int = Field(ge=0, le=MOST)
    dependencies: int = Field(ge=0, le=MOST)
    complexity: float = Field(ge=0, le=MOST)


class ComplexitySnapshot(Memory):
    """The source files that a story changed, as they were when it was integrated."""

    kind: ClassVar[str] = "complexity_snapshots"
    files: tuple[FileMeasure, ...] = ()


class Decision(Memory):
    kind: ClassVar[str] = "decisions"
    title: str
    text: str
    why: str = ""


class Pattern(Memory):
    """A way of doing things in this code base that later work is to follow."""

    kind: ClassVar[str] = "patterns"
    name: str
    description: str
    example: str = ""  # path, or path:line


class PatternUsage(Memory):
    kind: ClassVar[str] = "pattern_usage"
    pattern: str  # id of a Pattern
    path: str
    compliance: float = Field(ge=0, le=100)


KINDS: dict[str, type[Memory]] = {
    each.kind: each
    for each in (
        Failure,
        EstimateRecord,
        Lesson,
        SpikeRecord,
        LibraryNote,
        ComplexitySnapshot,
        Decision,
        Pattern,
        PatternUsage,
    )
}
