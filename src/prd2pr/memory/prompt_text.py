"""Render memory for the prompt of a role, within a token limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prd2pr.domain.memory_records import DecisionRecord, LibraryNote
from prd2pr.domain.wording import limit_lines
from prd2pr.memory.search_terms import CHARS_PER_TOKEN
from prd2pr.memory.similarity import RelevantMemory, SimilarFailure, SimilarPattern

MEMORY_TOKEN_CAP = 1_200  # for all text that a role receives from memory


def render_memory(found: RelevantMemory, notes: Iterable[LibraryNote] = (), token_cap: int = MEMORY_TOKEN_CAP) -> str:
    """Render the records, with failures first because they are the more valuable lessons."""
    lines = (*render_failures(found.failures), *render_patterns(found.patterns), *render_library_notes(notes))
    return "\n".join(limit_lines(lines, token_cap * CHARS_PER_TOKEN))


def render_library_notes(notes: Iterable[LibraryNote]) -> Iterator[str]:
    for each in notes:
        yield f"library {each.library} {each.version}: {flatten(each.content)}"


def render_failures(failures: Iterable[SimilarFailure]) -> Iterator[str]:
    for each in failures:
        approach = flatten(each.approach).rstrip(".")
        yield f"failure {each.id} ({flatten(each.feature)}): {approach}. It failed: {flatten(each.why_failed)}"
        if each.lesson:
            yield f"  lesson: {flatten(each.lesson)}"


def render_patterns(patterns: Iterable[SimilarPattern]) -> Iterator[str]:
    for each in patterns:
        seen = f" (as in {each.example})" if each.example else ""
        yield f"pattern {each.id} ({flatten(each.name)}): {flatten(each.description)}{seen}"


def render_decisions(decisions: Iterable[DecisionRecord]) -> Iterator[str]:
    for each in decisions:
        why = f" Because: {flatten(each.why)}" if each.why else ""
        yield f"decision {each.id} ({flatten(each.title)}): {flatten(each.text)}{why}"


def flatten(text: str) -> str:
    return " ".join(text.split())
