"""CHANGELOG: finished, unreleased stories in the format of Keep a Changelog.

A person makes a release by moving lines out of the generated part, under a heading with a version. A story whose id is
named there counts as released and is not listed again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from prd2pr.livingdocs.history import LivingFacts, StoryHistory

SECTIONS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
_SECTION_OF = {"feature": "Added", "bug": "Fixed"}  # all others: Changed
MAX_ENTRIES = 300


class ChangelogEntry(NamedTuple):
    story: str
    title: str


class ChangelogGroup(NamedTuple):
    prd: str
    entries: tuple[ChangelogEntry, ...]


class ChangelogSection(NamedTuple):
    name: str
    groups: tuple[ChangelogGroup, ...]


class ChangelogView(NamedTuple):
    sections: tuple[ChangelogSection, ...]
    more: int
    released: int


def build_changelog_view(facts: LivingFacts) -> ChangelogView:
    done = list(facts.done())
    by_people = facts.by_people.get("CHANGELOG", "")
    released = {each.id for each in done if is_story_named(each.id, by_people)}
    unreleased = [each for each in done if each.id not in released]
    shown = unreleased[-MAX_ENTRIES:]
    sections = (ChangelogSection(name, tuple(group_by_prd(shown, name))) for name in SECTIONS)
    return ChangelogView(
        tuple(section for section in sections if section.groups), len(unreleased) - len(shown), len(released)
    )


def group_by_prd(stories: list[StoryHistory], section: str) -> Iterator[ChangelogGroup]:
    own = [each for each in stories if _SECTION_OF.get(each.story.kind, "Changed") == section]
    for prd in dict.fromkeys(each.history.prd.id for each in own):
        of_prd = [each for each in own if each.history.prd.id == prd]
        yield ChangelogGroup(of_prd[0].history.title, tuple(ChangelogEntry(each.id, each.title) for each in of_prd))


def is_story_named(story: str, text: str) -> bool:
    """Whether the text names this story id as a whole: not `loyalty-12` or `my-loyalty-1` for `loyalty-1`."""
    return bool(re.search(rf"(?<![\w.-]){re.escape(story)}(?![\w-])", text))
