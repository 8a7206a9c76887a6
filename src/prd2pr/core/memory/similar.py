"""What was tried before and is like what is to be done now: by meaning where vectors are to be had, else by words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, zip_longest
from typing import Any, Protocol

from prd2pr.core.memory.words import MOST_WORDS, match_text, shared, telling_words, tokens_of

NEAR = 0.3  # cosine of two texts that have something to do with each other
LIMIT = 5
FEWEST_WORDS = 3
MOST_HITS = 5_000  # texts that are weighed, where more words than the fewest are looked for


class Index(Protocol):
    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]: ...

    def texts_with(self, table: str, word: str) -> int:
        """How many texts of a table have a word that begins so."""
        ...

    def nearest(self, text: str, limit: int) -> list[tuple[str, float]] | None:
        """Failures by nearness of meaning: path and cosine. None: there are no vectors here."""
        ...


@dataclass(frozen=True)
class SimilarFailure:
    id: str
    prd: str
    story: str
    feature: str
    approach: str
    why_failed: str
    lesson: str
    logged_at: int
    score: float  # greater is nearer; a cosine by meaning, a bm25 by words
    by: str  # meaning, words

    def line(self) -> str:
        """For a prompt."""
        return f"{self.feature}. Tried: {self.approach} Failed: {self.why_failed} Lesson: {self.lesson}"


@dataclass(frozen=True)
class SimilarPattern:
    id: str
    name: str
    description: str
    example: str
    used: int
    compliance: float | None  # 0–100, over all uses
    score: float

    def line(self) -> str:
        example = f" Example: {self.example}" if self.example else ""
        return f"{self.name}: {self.description}{example}"


def similar_failures(index: Index, text: str, limit: int = LIMIT) -> tuple[SimilarFailure, ...]:
    """By meaning where vectors are to be had, else by words; the nearest first, of equals the newest."""
    near = index.nearest(text, limit)
    return by_words(index, text, limit) if near is None else by_meaning(index, near)


def by_meaning(index: Index, near: Sequence[tuple[str, float]]) -> tuple[SimilarFailure, ...]:
    found = {path: cosine for path, cosine in near if cosine >= NEAR}
    marks = ", ".join("?" * len(found))
    columns = "id, prd, story, feature, approach, why_failed, lesson, logged_at, path"
    rows = index.rows(f"SELECT {columns} FROM failures WHERE path IN ({marks})", tuple(found))  # noqa: S608 - of ours
    made = [failure(row, round(found[row[-1]], 4), "meaning") for row in rows]
    return tuple(sorted(made, key=lambda each: (-each.score, -each.logged_at, each.id)))


def by_words(index: Index, text: str, limit: int) -> tuple[SimilarFailure, ...]:
    words = searched_words(index, "failures", text)
    if not words:
        return ()
    # What is too far away is left out by its score alone, before anything else of it is read.
    rows = index.rows(
        "WITH hits AS MATERIALIZED (SELECT rowid AS hit, -bm25(failures_text, 4, 2, 1, 1) AS near FROM failures_text"
        " WHERE failures_text MATCH ?1), last AS (SELECT near FROM hits ORDER BY near DESC LIMIT 1 OFFSET ?2 - 1)"
        " SELECT f.id, f.prd, f.story, f.feature, f.approach, f.why_failed, f.lesson, f.logged_at, near"
        " FROM hits JOIN failures f ON f.row = hit WHERE near >= coalesce((SELECT near FROM last), near)"
        " ORDER BY near DESC, f.logged_at DESC, f.id LIMIT ?2",
        (match_text(words), limit),
    )
    return tuple(failure(row, round(row[-1], 4), "words") for row in rows)


def searched_words(index: Index, table: str, text: str) -> tuple[str, ...]:
    """Those of a text that tell most here, the rarest first: so many that a long memory is not searched for long."""
    counted = {word: index.texts_with(table, word) for word in telling_words(text)}
    known = sorted((word for word in counted if counted[word]), key=lambda word: counted[word])
    hits = list(accumulate(counted[word] for word in known))
    return tuple(word for n, word in enumerate(known[:MOST_WORDS]) if n < FEWEST_WORDS or hits[n] <= MOST_HITS)


def failure(row: tuple[Any, ...], score: float, by: str) -> SimilarFailure:
    record_id, prd, story, feature, approach, why_failed, lesson, logged_at, *_ = row
    return SimilarFailure(record_id, prd, story, feature, approach, why_failed, lesson, logged_at, score, by)


def similar_patterns(index: Index, text: str, limit: int = LIMIT) -> tuple[SimilarPattern, ...]:
    words = searched_words(index, "patterns", text)
    if not words:
        return ()
    rows = index.rows(
        "SELECT p.id, p.name, p.description, p.example,"
        " (SELECT count(*) FROM pattern_usage u WHERE u.pattern_id = p.id),"
        " (SELECT avg(compliance_score) FROM pattern_usage u WHERE u.pattern_id = p.id),"
        " -bm25(patterns_text, 4, 1, 1) AS near"
        " FROM patterns_text JOIN patterns p ON p.row = patterns_text.rowid WHERE patterns_text MATCH ?"
        " ORDER BY near DESC, p.id LIMIT ?",
        (match_text(words), limit),
    )
    return tuple(
        SimilarPattern(
            pattern,
            name,
            description,
            example,
            used,
            None if compliance is None else round(compliance, 1),
            round(near, 4),
        )
        for pattern, name, description, example, used, compliance, near in rows
    )


@dataclass(frozen=True)
class Relevant:
    """What roles are told of what was learnt before: no more than a cap of tokens."""

    failures: tuple[SimilarFailure, ...] = ()
    patterns: tuple[SimilarPattern, ...] = ()
    tokens: int = 0

    def __bool__(self) -> bool:
        return bool(self.failures or self.patterns)


def relevant(index: Index, text: str, token_cap: int, limit: int = LIMIT) -> Relevant:
    """The nearest failures and patterns, in turn, as far as they fit. One common word alone makes nothing relevant."""
    words = telling_words(text)
    failures = [each for each in similar_failures(index, text, limit) if each.by == "meaning" or alike(words, each)]
    patterns = [each for each in similar_patterns(index, text, limit) if alike(words, each)]
    taken: list[SimilarFailure | SimilarPattern] = []
    left = token_cap
    for each in in_turn(failures, patterns):
        cost = tokens_of(each.line())
        if cost <= left:
            taken.append(each)
            left -= cost
    return Relevant(
        failures=tuple(each for each in taken if isinstance(each, SimilarFailure)),
        patterns=tuple(each for each in taken if isinstance(each, SimilarPattern)),
        tokens=token_cap - left,
    )


def alike(words: tuple[str, ...], found: SimilarFailure | SimilarPattern) -> bool:
    return shared(words, found.line()) >= min(2, len(words))


def in_turn(
    failures: Sequence[SimilarFailure], patterns: Sequence[SimilarPattern]
) -> Iterator[SimilarFailure | SimilarPattern]:
    for pair in zip_longest(failures, patterns):
        yield from (each for each in pair if each is not None)
