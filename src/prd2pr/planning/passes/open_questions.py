"""Merge the questions and assumptions of several answers without repetition."""

from __future__ import annotations

import re
from collections.abc import Iterable

from prd2pr.domain.records import Prd
from prd2pr.domain.wording import clean_line
from prd2pr.planning.passes.drafts import OpenQuestion
from prd2pr.prd.requirement_ids import collect_mentioned_keys, get_requirement_key, index_by_key

# Questions about the same requirements with at least this share of common words count as the same.
SAME_QUESTION = 0.3
_WORD = re.compile(r"[^\W_]+")


def extract_words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.lower()))


def compute_word_similarity(one: Iterable[str], other: Iterable[str]) -> float:
    """Return the share of common words, from 0 for none to 1 for all."""
    first, second = set(one), set(other)
    return len(first & second) / len(first | second) if first or second else 1.0


def merge_questions(prd: Prd, questions: Iterable[OpenQuestion]) -> tuple[str, ...]:
    """Return one line for each question, with the requirement ids.

    Parallel calls word the same contradiction differently, so similar questions about the same two or more requirements
    are asked only once.
    """
    known = index_by_key(requirement.id for requirement in prd.requirements)
    kept: dict[tuple[str, ...], frozenset[str]] = {}
    merged: list[str] = []
    for question in questions:
        text = clean_line(question.text)
        about = frozenset(
            known[get_requirement_key(name)] for name in question.about if get_requirement_key(name) in known
        )
        words = extract_words(text)
        if not words or any(_is_same_question(words, about, other, ids) for other, ids in kept.items()):
            continue
        kept[words] = about
        named = collect_mentioned_keys((text,))
        missing = [name for key, name in known.items() if name in about and key not in named]
        merged.append(f"{', '.join(missing)}: {text}" if missing else text)
    return tuple(merged)


def _is_same_question(
    words: tuple[str, ...], about: frozenset[str], other: tuple[str, ...], ids: frozenset[str]
) -> bool:
    return words == other or (
        len(about) > 1 and about == ids and compute_word_similarity(words, other) >= SAME_QUESTION
    )


def merge_assumptions(assumptions: Iterable[str]) -> tuple[str, ...]:
    first: dict[tuple[str, ...], str] = {}
    for text in map(clean_line, assumptions):
        if extract_words(text):
            first.setdefault(extract_words(text), text)
    return tuple(first.values())
