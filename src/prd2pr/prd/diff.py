"""Compare the requirements of two PRD versions, by id and by text.

A requirement with a new id and the same text is unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from prd2pr.domain.records import Prd, Requirement
from prd2pr.prd.requirement_ids import get_requirement_key


@dataclass(frozen=True)
class ChangedRequirement:
    before: Requirement
    after: Requirement


@dataclass(frozen=True)
class RequirementChange:
    same: tuple[Requirement, ...] = ()  # from the new PRD
    changed: tuple[ChangedRequirement, ...] = ()
    added: tuple[Requirement, ...] = ()
    removed: tuple[Requirement, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()  # old key and new id of texts whose id changed

    @property
    def is_empty(self) -> bool:
        return not (self.changed or self.added or self.removed or self.renamed)

    @property
    def new_requirements(self) -> tuple[Requirement, ...]:
        """Changed and added requirements, which the current plan does not cover."""
        return (*(each.after for each in self.changed), *self.added)

    def list_keys_to_cover(self) -> frozenset[str]:
        """Return the keys of the requirements for which the changed PRD needs new stories.

        A criterion is also covered by its requirement, so a new criterion reopens its requirement.
        """
        parents = (each.parent for each in self.new_requirements if each.kind == "acceptance" and each.parent)
        return frozenset(get_requirement_key(name) for name in (*(each.id for each in self.new_requirements), *parents))

    def list_outdated_keys(self) -> frozenset[str]:
        """Return the keys of the current plan's requirements whose stories no longer match the PRD."""
        old = (*(each.before for each in self.changed), *self.removed)
        criteria = (each for each in (*old, *self.added) if each.kind == "acceptance" and each.parent)
        return frozenset(
            get_requirement_key(name) for name in (*(each.id for each in old), *(each.parent for each in criteria))
        )


def diff_requirements(before: Prd, after: Prd) -> RequirementChange:
    old = {get_requirement_key(each.id): each for each in before.requirements}
    new = {get_requirement_key(each.id): each for each in after.requirements}
    same = {key for key, each in new.items() if key in old and normalize_wording(old[key]) == normalize_wording(each)}
    renamed = _find_renamed(_without(old, same), _without(new, same))
    settled_old, settled_new = same | set(renamed), same | {get_requirement_key(name) for name in renamed.values()}
    changed = [key for key in _without(new, settled_new) if key in _without(old, settled_old)]
    return RequirementChange(
        same=tuple(each for key, each in new.items() if key in settled_new),
        changed=tuple(ChangedRequirement(old[key], new[key]) for key in changed),
        added=tuple(_without(new, settled_new | set(changed)).values()),
        removed=tuple(_without(old, settled_old | set(changed)).values()),
        renamed=tuple(renamed.items()),
    )


def normalize_wording(requirement: Requirement) -> str:
    return " ".join(requirement.text.split())


def _without(requirements: dict[str, Requirement], keys: Iterable[str]) -> dict[str, Requirement]:
    left_out = set(keys)
    return {key: each for key, each in requirements.items() if key not in left_out}


def _find_renamed(old: dict[str, Requirement], new: dict[str, Requirement]) -> dict[str, str]:
    """Map old keys to the new ids of requirements whose text is unchanged. A text that occurs twice is ignored."""
    where = _group_by_text(new)
    return {
        keys[0]: new[where[text][0]].id
        for text, keys in _group_by_text(old).items()
        if text and len(keys) == 1 and len(where.get(text, ())) == 1
    }


def _group_by_text(requirements: dict[str, Requirement]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, requirement in requirements.items():
        found.setdefault(normalize_wording(requirement), []).append(key)
    return found
