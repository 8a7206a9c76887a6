"""Questions and assumptions of many answers, made one list: nothing is lost, nothing is said twice."""

from __future__ import annotations

import re
from collections.abc import Iterable

from prd2pr.core.passes.drafts import OpenQuestion
from prd2pr.core.records import Prd
from prd2pr.core.requirement_ids import by_key, key_of
from prd2pr.core.wording import plain

# Of two questions about the same requirements: from this share of common words on, they ask the same.
SAME_QUESTION = 0.3
_WORD = re.compile(r"[^\W_]+")


def words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.lower()))


def likeness(one: Iterable[str], other: Iterable[str]) -> float:
    """The share of words that two texts have in common: 0 none, 1 all."""
    first, second = set(one), set(other)
    return len(first & second) / len(first | second) if first or second else 1.0


def asked(prd: Prd, questions: Iterable[OpenQuestion]) -> tuple[str, ...]:
    """In one line each, with the ids that they are about. Parallel calls find the same contradiction in other words:
    what names the same two requirements or more, and much the same besides, is asked once."""
    known = by_key(requirement.id for requirement in prd.requirements)
    kept: dict[tuple[str, ...], frozenset[str]] = {}
    told: list[str] = []
    for question in questions:
        text = plain(question.text)
        about = frozenset(known[key_of(name)] for name in question.about if key_of(name) in known)
        said = words(text)
        if not said or any(_same(said, about, other, ids) for other, ids in kept.items()):
            continue
        kept[said] = about
        missing = [name for name in known.values() if name in about and name not in text]
        told.append(f"{', '.join(missing)}: {text}" if missing else text)
    return tuple(told)


def _same(said: tuple[str, ...], about: frozenset[str], other: tuple[str, ...], ids: frozenset[str]) -> bool:
    return said == other or (len(about) > 1 and about == ids and likeness(said, other) >= SAME_QUESTION)


def assumed(assumptions: Iterable[str]) -> tuple[str, ...]:
    first: dict[tuple[str, ...], str] = {}
    for text in map(plain, assumptions):
        if words(text):
            first.setdefault(words(text), text)
    return tuple(first.values())
