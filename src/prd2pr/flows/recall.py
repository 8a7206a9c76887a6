"""What was learnt before, as far as a commit tells: told to roles within a cap, and counted by code."""

from __future__ import annotations

from dataclasses import dataclass, field

from prd2pr.core.judgement import documentation
from prd2pr.core.memory.queries import CorrectionFactor, Relevant, correction_factor
from prd2pr.core.memory.records import LibraryNote
from prd2pr.core.memory.told import memory_text
from prd2pr.flows.memory import knows, records_of, relevant_to
from prd2pr.flows.session import Session
from prd2pr.repo.memory_index import MemoryIndex


@dataclass(frozen=True)
class Recalled:
    """Empty, where nothing was learnt yet or nothing of it is near."""

    found: Relevant = field(default_factory=Relevant)
    text: str = ""


def recalled(session: Session, commit: str, about: str) -> Recalled:
    """Failures and patterns near to a text, and what is known of libraries; all of it within one cap."""
    if not knows(session.git, commit):
        return Recalled()
    found = relevant_to(session.git, commit, about)
    return Recalled(found, memory_text(found, fresh_notes(session, commit).values()))


def fresh_notes(session: Session, commit: str) -> dict[str, LibraryNote]:
    """By library: what was looked up and is still believed."""
    return documentation.fresh(records_of(session.git, commit, LibraryNote), session.clock.now())


def factor_learnt(session: Session, commit: str) -> CorrectionFactor | None:
    """What estimates are to be multiplied by; None where nothing was measured."""
    if not knows(session.git, commit):
        return None
    with MemoryIndex.open(session.git, commit, code=False) as index:
        found = correction_factor(index, session.clock.now())
    return found if found.minutes is not None else None
