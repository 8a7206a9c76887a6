"""Requirements that were removed from the PRD and added again unchanged. Their stories still cover them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from prd2pr.domain.records import Backlog, Prd, Requirement, Story
from prd2pr.prd.diff import RequirementChange, diff_requirements, normalize_wording
from prd2pr.prd.requirement_ids import get_requirement_key

REMOVED_SENTENCE = "is no longer in the PRD."


def find_reappeared_keys(before: Prd, backlog: Backlog, after: Prd) -> frozenset[str]:
    """Return the added keys if a story covers one of them, because then some were in an earlier version."""
    named = {get_requirement_key(name) for story in backlog.stories for name in story.requirements}
    added = diff_requirements(before, after).added
    if not any(get_requirement_key(each.id) in named for each in added):
        return frozenset()
    return frozenset(get_requirement_key(each.id) for each in added)


def apply_restored(
    change: RequirementChange, backlog: Backlog, started: frozenset[str], earlier: Mapping[str, Requirement]
) -> tuple[RequirementChange, tuple[str, ...]]:
    """Treat requirements restored with their earlier wording as unchanged.

    Return the updated change and the stories that cover these requirements.
    """
    skipped = (story for story in backlog.stories if story.status == "skipped")
    # The requirements of a skipped story do not count, since it may have been planned for the current wording.
    given_up = {get_requirement_key(name) for story in skipped for name in story.requirements}
    added = {get_requirement_key(each.id): each for each in change.added}
    alike = {
        key: each for key, each in added.items() if key not in given_up and has_same_wording(each, earlier.get(key))
    }
    there = {get_requirement_key(each.id) for each in change.same} | alike.keys()

    def serves(story: Story) -> bool:
        named = {get_requirement_key(name) for name in story.requirements}
        whole = story.id in started or named <= there  # otherwise it was planned for more than the PRD contains
        return whole and bool(named & alike.keys())

    stories = [story for story in backlog.stories if serves(story)]
    served = {get_requirement_key(name) for story in stories for name in story.requirements}
    back = {key for key, each in alike.items() if key in served or is_criterion_of(each, served & alike.keys())}
    same = (*change.same, *(each for key, each in alike.items() if key in back))
    left = tuple(each for key, each in added.items() if key not in back)
    return replace(change, same=same, added=left), tuple(story.id for story in stories)


def has_same_wording(now: Requirement, then: Requirement | None) -> bool:
    return then is not None and normalize_wording(then) == normalize_wording(now)


def is_criterion_of(requirement: Requirement, keys: set[str]) -> bool:
    """Return whether the requirement is a criterion of one of `keys`."""
    return (
        requirement.kind == "acceptance"
        and bool(requirement.parent)
        and get_requirement_key(requirement.parent) in keys
    )


def get_first_line(requirement: Requirement) -> str:
    return requirement.text.splitlines()[0][:80] if requirement.text else ""


def is_obsolete_question(question: str, prd: Prd) -> bool:
    """Return whether a question asks about a removed requirement that is back in the PRD with the same text."""
    name, _, rest = question.partition(" (")
    first_line, asks, _ = rest.rpartition(f") {REMOVED_SENTENCE}")
    return bool(asks) and any(
        get_requirement_key(each.id) == get_requirement_key(name) and get_first_line(each) == first_line
        for each in prd.requirements
    )
