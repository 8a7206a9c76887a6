"""What the journal says about money and attempts since the last commit."""

from __future__ import annotations

from collections.abc import Iterable

from prd2pr.core.records import Phase, Spend
from prd2pr.repo.journal import Entry

__all__ = ["Entry", "refused_entries", "spent"]


def spent(entries: Iterable[Entry], subject: str = "") -> Spend:
    """On one story, or on everything when `subject` is empty."""
    prefix = f"{subject}/" if subject else ""
    calls = (entry.facts for entry in entries if entry.kind == "call")
    mine = (Spend.model_validate(call["spend"]) for call in calls if call["key"].startswith(prefix))
    return sum(mine, Spend())


def refused_entries(entries: Iterable[Entry], story: str, phase: Phase) -> list[Entry]:
    return [
        entry
        for entry in entries
        if entry.kind == "refused" and entry.facts["story"] == story and entry.facts["phase"] == phase.value
    ]
