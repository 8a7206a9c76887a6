"""A requirement that was removed from the PRD and is put back as it was: its stories serve it still."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from prd2pr.core.prd_change import RequirementChange, compare, worded
from prd2pr.core.records import Backlog, Prd, Requirement, Story
from prd2pr.core.requirement_ids import key_of

GONE = "is no longer in the PRD."


def in_question(before: Prd, backlog: Backlog, after: Prd) -> frozenset[str]:
    """Keys that the PRD has and did not have before, and that a story names all the same: they were there once."""
    named = {key_of(name) for story in backlog.stories for name in story.requirements}
    added = compare(before, after).added
    if not any(key_of(each.id) in named for each in added):
        return frozenset()
    return frozenset(key_of(each.id) for each in added)


def with_put_back(
    change: RequirementChange, backlog: Backlog, begun: frozenset[str], earlier: Mapping[str, Requirement]
) -> tuple[RequirementChange, tuple[str, ...]]:
    """Those that say what they said last count as the same; and the stories that serve them."""
    skipped = (story for story in backlog.stories if story.status == "skipped")
    given_up = {key_of(name) for story in skipped for name in story.requirements}  # perhaps what it said last
    added = {key_of(each.id): each for each in change.added}
    alike = {key: each for key, each in added.items() if key not in given_up and says_the_same(each, earlier.get(key))}
    there = {key_of(each.id) for each in change.same} | alike.keys()

    def serves(story: Story) -> bool:
        named = {key_of(name) for name in story.requirements}
        whole = story.id in begun or named <= there  # else it was planned for more than there is
        return whole and bool(named & alike.keys())

    stories = [story for story in backlog.stories if serves(story)]
    served = {key_of(name) for story in stories for name in story.requirements}
    back = {key for key, each in alike.items() if key in served or is_part_of(each, served & alike.keys())}
    same = (*change.same, *(each for key, each in alike.items() if key in back))
    left = tuple(each for key, each in added.items() if key not in back)
    return replace(change, same=same, added=left), tuple(story.id for story in stories)


def says_the_same(now: Requirement, then: Requirement | None) -> bool:
    return then is not None and worded(then) == worded(now)


def is_part_of(requirement: Requirement, keys: set[str]) -> bool:
    """A criterion goes and comes with its requirement."""
    return requirement.kind == "acceptance" and bool(requirement.parent) and key_of(requirement.parent) in keys


def begins(requirement: Requirement) -> str:
    return requirement.text.splitlines()[0][:80] if requirement.text else ""


def asks_about_gone(question: str, prd: Prd) -> bool:
    """Whether it asks about a requirement as gone that the PRD has. Its id alone may have gone to another one."""
    name, _, rest = question.partition(" (")
    said, asks, _ = rest.rpartition(f") {GONE}")
    return bool(asks) and any(key_of(each.id) == key_of(name) and begins(each) == said for each in prd.requirements)
