"""What became of a PRD's requirements: the same, reworded, new, gone. By id and by text: renumbering is no change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from prd2pr.core.records import Prd, Requirement
from prd2pr.core.requirement_ids import key_of


@dataclass(frozen=True)
class Reworded:
    before: Requirement
    after: Requirement


@dataclass(frozen=True)
class RequirementChange:
    same: tuple[Requirement, ...] = ()  # as the new PRD has them
    changed: tuple[Reworded, ...] = ()
    added: tuple[Requirement, ...] = ()
    removed: tuple[Requirement, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()  # the same text under another id: key before, id now

    @property
    def nothing(self) -> bool:
        return not (self.changed or self.added or self.removed or self.renamed)

    @property
    def fresh(self) -> tuple[Requirement, ...]:
        """What the plan before this change says nothing about."""
        return (*(each.after for each in self.changed), *self.added)

    def to_cover(self) -> frozenset[str]:
        """Keys that only a story planned for the new PRD can cover.

        A criterion is covered by its requirement as well; so where one is new, the requirement is open again.
        """
        parents = (each.parent for each in self.fresh if each.kind == "acceptance" and each.parent)
        return frozenset(key_of(name) for name in (*(each.id for each in self.fresh), *parents))

    def outdated(self) -> frozenset[str]:
        """Keys, as the plan before uses them, whose stories say something that the PRD no longer says."""
        old = (*(each.before for each in self.changed), *self.removed)
        criteria = (each for each in (*old, *self.added) if each.kind == "acceptance" and each.parent)
        return frozenset(key_of(name) for name in (*(each.id for each in old), *(each.parent for each in criteria)))


def compare(before: Prd, after: Prd) -> RequirementChange:
    old = {key_of(each.id): each for each in before.requirements}
    new = {key_of(each.id): each for each in after.requirements}
    same = {key for key, each in new.items() if key in old and worded(old[key]) == worded(each)}
    renamed = _moved(_without(old, same), _without(new, same))
    settled_old, settled_new = same | set(renamed), same | {key_of(name) for name in renamed.values()}
    changed = [key for key in _without(new, settled_new) if key in _without(old, settled_old)]
    return RequirementChange(
        same=tuple(each for key, each in new.items() if key in settled_new),
        changed=tuple(Reworded(old[key], new[key]) for key in changed),
        added=tuple(_without(new, settled_new | set(changed)).values()),
        removed=tuple(_without(old, settled_old | set(changed)).values()),
        renamed=tuple(renamed.items()),
    )


def worded(requirement: Requirement) -> str:
    return " ".join(requirement.text.split())


def _without(requirements: dict[str, Requirement], keys: Iterable[str]) -> dict[str, Requirement]:
    left_out = set(keys)
    return {key: each for key, each in requirements.items() if key not in left_out}


def _moved(old: dict[str, Requirement], new: dict[str, Requirement]) -> dict[str, str]:
    """Texts that stand under another id now: key before → id now. A text that stands there twice proves nothing."""
    where = _by_text(new)
    return {
        keys[0]: new[where[text][0]].id
        for text, keys in _by_text(old).items()
        if text and len(keys) == 1 and len(where.get(text, ())) == 1
    }


def _by_text(requirements: dict[str, Requirement]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, requirement in requirements.items():
        found.setdefault(worded(requirement), []).append(key)
    return found
