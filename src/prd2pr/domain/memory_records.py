"""The memory records. Each is one file that is written once and never edited, so that branches merge without conflicts.

Only data that cannot be derived is stored here: pipelines are read from backlog and cycles, role calls from the logs,
sessions from the run records, and files and symbols from the code.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from prd2pr.domain.records import Document, Record


class Memory(Document):
    """A memory record. `id` is the file's name, and `story` is empty if the record is about a whole PRD."""

    kind: ClassVar[str]
    sparse: ClassVar[bool] = True
    id: str
    prd: str
    story: str = ""
    at: str


class FailureRecord(Memory):
    """An approach that failed, and the recommended alternative."""

    kind: ClassVar[str] = "failures"
    feature: str
    approach: str
    why_failed: str
    lesson: str
    phase: str = ""
    codes: tuple[str, ...] = ()


MAX_MEASURE = 10**9  # limit for minutes, sessions and lines, which keeps sums and quotients finite


class EstimateRecord(Memory):
    """Estimated and actual effort of a story. A session is one attempt at one phase."""

    kind: ClassVar[str] = "estimates"
    feature: str
    estimated_minutes: float = Field(ge=0, le=MAX_MEASURE)
    actual_minutes: float = Field(ge=0, le=MAX_MEASURE)
    estimated_sessions: int = Field(ge=0, le=MAX_MEASURE)
    actual_sessions: int = Field(ge=0, le=MAX_MEASURE)
    complexity: int = Field(ge=1, le=10)
    files_created: int = 0
    files_modified: int = 0
    tokens: int = 0
    usd: float | None = Field(default=None, ge=0, le=MAX_MEASURE)
    notes: str = ""


class Lesson(Memory):
    """A retrospective of a sprint or of a finished PRD."""

    kind: ClassVar[str] = "retrospectives"
    feature: str
    surprises: tuple[str, ...] = ()
    would_change: tuple[str, ...] = ()
    new_patterns: tuple[str, ...] = ()  # ids of `Pattern`
    variance: float | None = None  # actual minutes ÷ estimated minutes
    spike_accuracy: float | None = Field(default=None, ge=0, le=100)


class SpikeRecord(Memory):
    """A question, and its answer found by a throw-away experiment that is never merged."""

    kind: ClassVar[str] = "spikes"
    feature: str
    question: str
    approach: str
    result: str
    viable: bool
    lessons: str = ""
    minutes: float = Field(default=0, ge=0, le=MAX_MEASURE)
    branch: str = ""


class LibraryNote(Memory):
    """Documentation of a library, and when it expires."""

    kind: ClassVar[str] = "docs_cache"
    library: str
    version: str
    content: str
    source: str = ""
    expires_at: str


class FileMeasure(Record):
    path: str
    lines: int = Field(ge=0, le=MAX_MEASURE)
    functions: int = Field(ge=0, le=MAX_MEASURE)
    dependencies: int = Field(ge=0, le=MAX_MEASURE)
    complexity: float = Field(ge=0, le=MAX_MEASURE)


class ComplexitySnapshot(Memory):
    """Measures of the source files that a story changed, taken at its integration."""

    kind: ClassVar[str] = "complexity_snapshots"
    files: tuple[FileMeasure, ...] = ()


class DecisionRecord(Memory):
    kind: ClassVar[str] = "decisions"
    title: str
    text: str
    why: str = ""


class Pattern(Memory):
    """A pattern of this code base that later work should follow."""

    kind: ClassVar[str] = "patterns"
    name: str
    description: str
    example: str = ""  # path, or path:line


class PatternUsage(Memory):
    kind: ClassVar[str] = "pattern_usage"
    pattern: str  # id of a Pattern
    path: str
    compliance: float = Field(ge=0, le=100)


MEMORY_KINDS: dict[str, type[Memory]] = {
    each.kind: each
    for each in (
        FailureRecord,
        EstimateRecord,
        Lesson,
        SpikeRecord,
        LibraryNote,
        ComplexitySnapshot,
        DecisionRecord,
        Pattern,
        PatternUsage,
    )
}
