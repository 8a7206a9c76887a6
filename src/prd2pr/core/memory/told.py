"""What memory has to say to a role, as one text within a limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prd2pr.core.memory.records import Decision, LibraryNote
from prd2pr.core.memory.similar import Relevant, SimilarFailure, SimilarPattern
from prd2pr.core.memory.words import CHARS_PER_TOKEN
from prd2pr.core.run_words import joined

TOKEN_CAP = 1_200  # of all that a role is told of what was learnt before


def memory_text(found: Relevant, notes: Iterable[LibraryNote] = (), token_cap: int = TOKEN_CAP) -> str:
    """What failed comes first: it is the dearer lesson."""
    lines = (*failure_lines(found.failures), *pattern_lines(found.patterns), *note_lines(notes))
    return "\n".join(joined(lines, token_cap * CHARS_PER_TOKEN))


def note_lines(notes: Iterable[LibraryNote]) -> Iterator[str]:
    for each in notes:
        yield f"library {each.library} {each.version}: {flat(each.content)}"


def failure_lines(failures: Iterable[SimilarFailure]) -> Iterator[str]:
    for each in failures:
        approach = flat(each.approach).rstrip(".")
        yield f"failure {each.id} ({flat(each.feature)}): {approach}. It failed: {flat(each.why_failed)}"
        if each.lesson:
            yield f"  lesson: {flat(each.lesson)}"


def pattern_lines(patterns: Iterable[SimilarPattern]) -> Iterator[str]:
    for each in patterns:
        seen = f" (as in {each.example})" if each.example else ""
        yield f"pattern {each.id} ({flat(each.name)}): {flat(each.description)}{seen}"


def decision_lines(decisions: Iterable[Decision]) -> Iterator[str]:
    for each in decisions:
        why = f" Because: {flat(each.why)}" if each.why else ""
        yield f"decision {each.id} ({flat(each.title)}): {flat(each.text)}{why}"


def flat(text: str) -> str:
    return " ".join(text.split())
