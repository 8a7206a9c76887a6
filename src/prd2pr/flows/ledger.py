"""What the journal says about money and attempts since the last commit."""

from __future__ import annotations

from collections.abc import Iterable

from prd2pr.core.breakers.records import Trouble
from prd2pr.core.records import Phase, Spend
from prd2pr.core.role_costs import added, role_of
from prd2pr.repo.journal import Entry

__all__ = ["Entry", "carried", "inherited", "owner", "refused_entries", "refused_in", "spent", "troubles",
           "unrecorded"]  # fmt: skip

ABOUT_A_STORY = ("refused", "trouble")


def spent(entries: Iterable[Entry], subject: str = "") -> Spend:
    """On one story, or on everything when `subject` is empty."""
    prefix = f"{subject}/" if subject else ""
    calls = (entry.facts for entry in entries if entry.kind == "call")
    mine = (Spend.model_validate(call["spend"]) for call in calls if call["key"].startswith(prefix))
    return sum(mine, Spend())


def owner(entry: Entry) -> str:
    """The story that it is about; of the planner's calls, what was planned."""
    return str(entry.facts["story"] if entry.kind in ABOUT_A_STORY else entry.facts["key"].partition("/")[0])


def unrecorded(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """What no run's record on the branch holds yet."""
    return tuple(entry for entry in entries if not entry.facts.get("recorded"))


def inherited(entries: Iterable[Entry], run: str) -> dict[str, Spend]:
    """By role, what a run that was killed has spent: nobody but the next one can put it on record."""
    return by_role(entry for entry in unrecorded(entries) if entry.facts.get("run") != run)


def by_role(entries: Iterable[Entry]) -> dict[str, Spend]:
    found: dict[str, Spend] = {}
    for entry in entries:
        if entry.kind == "call":
            found = added(found, {role_of(entry.facts["key"]): Spend.model_validate(entry.facts["spend"])})
    return found


def carried(entries: Iterable[Entry], story: str, stories: Iterable[str]) -> tuple[Entry, ...]:
    """What a commit about `story` does not take up: attempts and spending of other stories. The run's record has
    the money by then, the story's own has not. Trouble is the circuits', and any commit takes it up."""
    candidates = [entry for entry in entries if entry.kind != "trouble" and owner(entry) != story]
    if not candidates:
        return ()  # mostly: so the stories, of which there may be thousands, are not even listed
    others = {*stories}
    return tuple(
        Entry(entry.kind, entry.head, {**entry.facts, "recorded": True})
        for entry in candidates
        if owner(entry) in others
    )


def troubles(entries: Iterable[Entry]) -> tuple[Trouble, ...]:
    return tuple(Trouble.model_validate(entry.facts["event"]) for entry in entries if entry.kind == "trouble")


def refused_in(entries: Iterable[Entry], story: str) -> bool:
    return any(entry.kind == "refused" and entry.facts["story"] == story for entry in entries)


def refused_entries(entries: Iterable[Entry], story: str, phase: Phase) -> list[Entry]:
    return [
        entry
        for entry in entries
        if entry.kind == "refused" and entry.facts["story"] == story and entry.facts["phase"] == phase.value
    ]
