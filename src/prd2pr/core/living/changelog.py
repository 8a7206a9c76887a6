"""CHANGELOG: finished stories, in the form of Keep a Changelog, under what is not released yet.

A release is cut by a person: lines are moved out of the generated part, under a heading with a version. A story that
is named there, by its id, is released, and is not told again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from prd2pr.core.living.worked import LivingFacts, StoryDone

SECTIONS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
_SECTION_OF = {"feature": "Added", "bug": "Fixed"}  # all others: Changed
MOST_ENTRIES = 300


class Entry(NamedTuple):
    story: str
    title: str


class Group(NamedTuple):
    prd: str
    entries: tuple[Entry, ...]


class Section(NamedTuple):
    name: str
    groups: tuple[Group, ...]


class ChangelogView(NamedTuple):
    sections: tuple[Section, ...]
    more: int
    released: int


def changelog(facts: LivingFacts) -> ChangelogView:
    done = list(facts.done())
    by_people = facts.by_people.get("CHANGELOG", "")
    released = {each.id for each in done if is_named(each.id, by_people)}
    told = [each for each in done if each.id not in released]
    shown = told[-MOST_ENTRIES:]
    sections = (Section(name, tuple(groups_of(shown, name))) for name in SECTIONS)
    return ChangelogView(
        tuple(section for section in sections if section.groups), len(told) - len(shown), len(released)
    )


def groups_of(stories: list[StoryDone], section: str) -> Iterator[Group]:
    own = [each for each in stories if _SECTION_OF.get(each.story.kind, "Changed") == section]
    for prd in dict.fromkeys(each.of.prd.id for each in own):
        of_prd = [each for each in own if each.of.prd.id == prd]
        yield Group(of_prd[0].of.title, tuple(Entry(each.id, each.title) for each in of_prd))


def is_named(story: str, text: str) -> bool:
    """`loyalty-1` is not named by `loyalty-12`, nor by `loyalty-1.c2`'s neighbour `my-loyalty-1`."""
    return bool(re.search(rf"(?<![\w.-]){re.escape(story)}(?![\w-])", text))
