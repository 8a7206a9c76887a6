"""GIVEN … WHEN … THEN …: read by code, so that what stands in the PRD is taken over and contradictions are seen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

from prd2pr.core.passes.open_points import likeness, words

_SCENARIO = re.compile(
    r"\W*given\b(?P<given>.+?)(?:\bwhen\b(?P<when>.+?))?\bthen\b(?P<then>.+)", re.IGNORECASE | re.DOTALL
)
# From this share of common words on, two outcomes speak of the same thing; below it, both may well hold.
SAME_THING = 0.3
_LITTLE = frozenset(("a", "an", "the", "it", "its", "is", "are", "was", "were", "be", "of", "to", "and", "not", "no"))


@dataclass(frozen=True)
class Scenario:
    given: tuple[str, ...]
    when: tuple[str, ...]
    then: tuple[str, ...]


def scenario(text: str) -> Scenario | None:
    found = _SCENARIO.match(text.strip())
    if found is None or not words(found["then"]):
        return None
    return Scenario(words(found["given"]), words(found["when"] or ""), words(found["then"]))


@dataclass(frozen=True)
class Said:
    """A criterion, and where it stands: an id of the PRD or a story's key."""

    where: str
    text: str
    by_prd: bool = False


def contradictions(said: Iterable[Said]) -> Iterator[tuple[Said, Said]]:
    """Pairs with the same GIVEN and WHEN that say different things of the same outcome."""
    groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[tuple[Said, Scenario]]] = {}
    for each in said:
        read = scenario(each.text)
        if read is not None:
            groups.setdefault((read.given, read.when), []).append((each, read))
    for group in groups.values():
        for (one, first), (other, second) in combinations(group, 2):
            if first.then != second.then and likeness(_matter(first.then), _matter(second.then)) >= SAME_THING:
                yield one, other


def _matter(then: tuple[str, ...]) -> tuple[str, ...]:
    """What it speaks of, without how much, how many and whether."""
    return tuple(word.removesuffix("s") for word in then if not word.isdigit() and word not in _LITTLE)
