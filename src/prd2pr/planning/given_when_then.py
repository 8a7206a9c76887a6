"""Parse criteria of the form GIVEN … WHEN … THEN …, to copy those of the PRD and to detect contradictions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

_SCENARIO = re.compile(
    r"\W*given\b(?P<given>.+?)(?:\bwhen\b(?P<when>.+?))?\bthen\b(?P<then>.+)", re.IGNORECASE | re.DOTALL
)
# Outcomes with at least this share of common words describe the same thing; otherwise both may be valid.
SAME_OUTCOME = 0.3
_WORD = re.compile(r"[^\W_]+")
_STOP_WORDS = frozenset(
    ("a", "an", "the", "it", "its", "is", "are", "was", "were", "be", "of", "to", "and", "not", "no")
)
_NEGATIONS = frozenset(("not", "no", "never", "none", "nothing", "nobody", "neither", "without", "cannot", "t"))


def extract_words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.lower()))


def compute_word_similarity(one: Iterable[str], other: Iterable[str]) -> float:
    """Return the share of common words, from 0 for none to 1 for all."""
    first, second = set(one), set(other)
    return len(first & second) / len(first | second) if first or second else 1.0


@dataclass(frozen=True)
class Scenario:
    given: tuple[str, ...]
    when: tuple[str, ...]
    then: tuple[str, ...]


def parse_scenario(text: str) -> Scenario | None:
    found = _SCENARIO.match(text.strip())
    if found is None or not extract_words(found["then"]):
        return None
    return Scenario(extract_words(found["given"]), extract_words(found["when"] or ""), extract_words(found["then"]))


@dataclass(frozen=True)
class StatedCriterion:
    """A criterion and its source: an id of the PRD or a story's key."""

    where: str
    text: str
    by_prd: bool = False


def find_contradicting_criteria(
    criteria: Iterable[StatedCriterion],
) -> Iterator[tuple[StatedCriterion, StatedCriterion]]:
    """Yield pairs with the same GIVEN and WHEN but different values of the same outcome."""
    groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[tuple[StatedCriterion, Scenario]]] = {}
    for each in criteria:
        read = parse_scenario(each.text)
        if read is not None:
            groups.setdefault((read.given, read.when), []).append((each, read))
    for group in groups.values():
        for (one, first), (other, second) in combinations(group, 2):
            if (
                not _says_the_same(first.then, second.then)
                and compute_word_similarity(_content_words(first.then), _content_words(second.then)) >= SAME_OUTCOME
            ):
                yield one, other


def _says_the_same(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether one outcome contains everything that the other one says, with the same numbers and negations."""
    first, second = set(_content_words(one)), set(_content_words(other))
    values = [[word for word in then if word.isdigit() or word in _NEGATIONS] for then in (one, other)]
    return values[0] == values[1] and (first <= second or second <= first)


def _content_words(then: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words without numbers and stop words."""
    return tuple(word.removesuffix("s") for word in then if not word.isdigit() and word not in _STOP_WORDS)
