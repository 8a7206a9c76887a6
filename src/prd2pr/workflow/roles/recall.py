"""Read what was learned earlier from the memory in a commit, for prompts and estimates."""

from __future__ import annotations

from dataclasses import dataclass, field

from prd2pr.agents.outputs import documentation
from prd2pr.domain.memory_records import LibraryNote
from prd2pr.memory.commit import find_relevant_memory, has_memory, read_memory_records
from prd2pr.memory.index import MemoryIndex
from prd2pr.memory.prompt_text import render_memory
from prd2pr.memory.queries import CorrectionFactor, RelevantMemory, compute_correction_factor
from prd2pr.workflow.session import Session


@dataclass(frozen=True)
class RecalledMemory:
    """Relevant memory; empty if there is none."""

    found: RelevantMemory = field(default_factory=RelevantMemory)
    text: str = ""


def recall_memory(session: Session, commit: str, about: str) -> RecalledMemory:
    """Return failures and patterns similar to a text, and library notes, within one size limit."""
    if not has_memory(session.git, commit):
        return RecalledMemory()
    found = find_relevant_memory(session.git, commit, about)
    return RecalledMemory(found, render_memory(found, list_fresh_notes(session, commit).values()))


def list_fresh_notes(session: Session, commit: str) -> dict[str, LibraryNote]:
    """Return the library notes that have not expired, by library."""
    return documentation.select_fresh_notes(read_memory_records(session.git, commit, LibraryNote), session.clock.now())


def find_correction_factor(session: Session, commit: str) -> CorrectionFactor | None:
    """Return the correction factor for estimates, or None if nothing was measured."""
    if not has_memory(session.git, commit):
        return None
    with MemoryIndex.open(session.git, commit, code=False) as index:
        found = compute_correction_factor(index, session.clock.now())
    return found if found.minutes is not None else None
