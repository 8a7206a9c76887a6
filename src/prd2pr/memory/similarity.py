"""Find earlier failures and patterns similar to a task, by meaning if vectors are available, otherwise by words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, zip_longest
from typing import Any, Literal, Protocol

from prd2pr.memory.index.schema import EmbeddedTable
from prd2pr.memory.search_terms import (
    MAX_SEARCH_WORDS,
    build_match_query,
    count_shared_words,
    count_text_tokens,
    extract_search_words,
)

MIN_COSINE = 0.3  # minimum for two related texts
DEFAULT_LIMIT = 5
MIN_WORDS = 3
MAX_HITS = 5_000  # maximum number of texts to rank if more than MIN_WORDS words are searched


class SearchIndex(Protocol):
    """An index that can be queried by SQL, words and vectors."""

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]: ...

    def texts_with(self, table: str, word: str) -> int:
        """Count the texts of a table that contain a word with this prefix."""
        ...

    def nearest(self, table: EmbeddedTable, text: str, limit: int) -> list[tuple[str, float]] | None:
        """Return the path and cosine of the rows nearest in meaning, or None if no vectors are available."""
        ...


@dataclass(frozen=True)
class SimilarFailure:
    """A failure with its similarity."""

    id: str
    prd: str
    story: str
    feature: str
    approach: str
    why_failed: str
    lesson: str
    logged_at: int
    score: float  # a cosine by meaning or a bm25 score by words; greater is more similar
    by: str  # "meaning" or "words"

    def line(self) -> str:
        """Format the failure as one line for a prompt."""
        return f"{self.feature}. Tried: {self.approach} Failed: {self.why_failed} Lesson: {self.lesson}"


@dataclass(frozen=True)
class SimilarPattern:
    """A pattern with its similarity."""

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


def find_similar_failures(index: SearchIndex, text: str, limit: int = DEFAULT_LIMIT) -> tuple[SimilarFailure, ...]:
    """Return the most similar failures first, and the newest first among equals.

    Similarity is by meaning if vectors are available, otherwise by words.
    """
    near = index.nearest("failures", text, limit)
    return search_by_words(index, text, limit) if near is None else rank_by_meaning(index, near)


def rank_by_meaning(index: SearchIndex, near: Sequence[tuple[str, float]]) -> tuple[SimilarFailure, ...]:
    found = {path: cosine for path, cosine in near if cosine >= MIN_COSINE}
    marks = ", ".join("?" * len(found))
    columns = "id, prd, story, feature, approach, why_failed, lesson, logged_at, path"
    rows = index.rows(f"SELECT {columns} FROM failures WHERE path IN ({marks})", tuple(found))  # noqa: S608 - placeholders only
    made = [make_similar_failure(row, round(found[row[-1]], 4), "meaning") for row in rows]
    return tuple(sorted(made, key=lambda each: (-each.score, -each.logged_at, each.id)))


def search_by_words(index: SearchIndex, text: str, limit: int) -> tuple[SimilarFailure, ...]:
    words = choose_search_words(index, "failures", text)
    if not words:
        return ()
    # Rows below the limit are excluded by score before their columns are read.
    rows = index.rows(
        "WITH hits AS MATERIALIZED (SELECT rowid AS hit, -bm25(failures_text, 4, 2, 1, 1) AS near FROM failures_text"
        " WHERE failures_text MATCH ?1), last AS (SELECT near FROM hits ORDER BY near DESC LIMIT 1 OFFSET ?2 - 1)"
        " SELECT f.id, f.prd, f.story, f.feature, f.approach, f.why_failed, f.lesson, f.logged_at, near"
        " FROM hits JOIN failures f ON f.row = hit WHERE near >= coalesce((SELECT near FROM last), near)"
        " ORDER BY near DESC, f.logged_at DESC, f.id LIMIT ?2",
        (build_match_query(words), limit),
    )
    return tuple(make_similar_failure(row, round(row[-1], 4), "words") for row in rows)


def choose_search_words(index: SearchIndex, table: str, text: str) -> tuple[str, ...]:
    """Return the rarest words of a text. Their number is limited so that searching a large memory stays fast."""
    counted = {word: index.texts_with(table, word) for word in extract_search_words(text)}
    known = sorted((word for word in counted if counted[word]), key=lambda word: counted[word])
    hits = list(accumulate(counted[word] for word in known))
    return tuple(word for n, word in enumerate(known[:MAX_SEARCH_WORDS]) if n < MIN_WORDS or hits[n] <= MAX_HITS)


def make_similar_failure(row: tuple[Any, ...], score: float, by: str) -> SimilarFailure:
    record_id, prd, story, feature, approach, why_failed, lesson, logged_at, *_ = row
    return SimilarFailure(record_id, prd, story, feature, approach, why_failed, lesson, logged_at, score, by)


def find_similar_patterns(index: SearchIndex, text: str, limit: int = DEFAULT_LIMIT) -> tuple[SimilarPattern, ...]:
    words = choose_search_words(index, "patterns", text)
    if not words:
        return ()
    rows = index.rows(
        "SELECT p.id, p.name, p.description, p.example,"
        " (SELECT count(*) FROM pattern_usage u WHERE u.pattern_id = p.id),"
        " (SELECT avg(compliance_score) FROM pattern_usage u WHERE u.pattern_id = p.id),"
        " -bm25(patterns_text, 4, 1, 1) AS near"
        " FROM patterns_text JOIN patterns p ON p.row = patterns_text.rowid WHERE patterns_text MATCH ?"
        " ORDER BY near DESC, p.id LIMIT ?",
        (build_match_query(words), limit),
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
class SimilarText:
    """A decision or file with a similar meaning."""

    kind: Literal["decision", "file"]
    id: str  # of the decision, or the path
    text: str
    score: float
    by: str = "meaning"  # or "words"


def find_similar_texts(index: SearchIndex, text: str, limit: int = DEFAULT_LIMIT) -> tuple[SimilarText, ...]:
    """Return similar decisions and files, the most similar first. Files are found by meaning only."""
    found = (*find_similar_decisions(index, text, limit), *find_similar_files(index, text, limit))
    return tuple(sorted(found, key=lambda each: -each.score))[:limit]


def find_similar_decisions(index: SearchIndex, text: str, limit: int = DEFAULT_LIMIT) -> tuple[SimilarText, ...]:
    near = index.nearest("decisions", text, limit)
    if near is not None:
        rows = {path: row for path, *row in index.rows("SELECT path, id, title, text FROM decisions")}
        return tuple(
            SimilarText("decision", rows[path][0], f"{rows[path][1]}: {rows[path][2]}", round(cosine, 4))
            for path, cosine in near
            if cosine >= MIN_COSINE
        )
    words = choose_search_words(index, "decisions", text)
    rows_by_words = (
        index.rows(
            "SELECT d.id, d.title, d.text, -bm25(decisions_text) AS near FROM decisions_text"
            " JOIN decisions d ON d.row = decisions_text.rowid WHERE decisions_text MATCH ?"
            " ORDER BY near DESC, d.id LIMIT ?",
            (build_match_query(words), limit),
        )
        if words
        else []
    )
    return tuple(
        SimilarText("decision", name, f"{title}: {about}", round(score, 4), "words")
        for name, title, about, score in rows_by_words
    )


def find_similar_files(index: SearchIndex, text: str, limit: int = DEFAULT_LIMIT) -> tuple[SimilarText, ...]:
    near = index.nearest("files", text, limit) or ()
    rows = dict(index.rows("SELECT path, group_concat(name, ', ') FROM symbols GROUP BY path")) if near else {}
    return tuple(
        SimilarText("file", path, str(rows[path]), round(cosine, 4)) for path, cosine in near if cosine >= MIN_COSINE
    )


@dataclass(frozen=True)
class RelevantMemory:
    """The memory given to a role, within a token limit."""

    failures: tuple[SimilarFailure, ...] = ()
    patterns: tuple[SimilarPattern, ...] = ()
    tokens: int = 0

    def __bool__(self) -> bool:
        return bool(self.failures or self.patterns)


def find_relevant(index: SearchIndex, text: str, token_cap: int, limit: int = DEFAULT_LIMIT) -> RelevantMemory:
    """Return the most similar failures and patterns, alternating, as many as fit.

    One common word is not enough for a match.
    """
    words = extract_search_words(text)
    failures = [
        each for each in find_similar_failures(index, text, limit) if each.by == "meaning" or shares_words(words, each)
    ]
    patterns = [each for each in find_similar_patterns(index, text, limit) if shares_words(words, each)]
    chosen: list[SimilarFailure | SimilarPattern] = []
    remaining = token_cap
    for each in interleave(failures, patterns):
        cost = count_text_tokens(each.line())
        if cost <= remaining:
            chosen.append(each)
            remaining -= cost
    return RelevantMemory(
        failures=tuple(each for each in chosen if isinstance(each, SimilarFailure)),
        patterns=tuple(each for each in chosen if isinstance(each, SimilarPattern)),
        tokens=token_cap - remaining,
    )


def shares_words(words: tuple[str, ...], found: SimilarFailure | SimilarPattern) -> bool:
    return count_shared_words(words, found.line()) >= min(2, len(words))


def interleave(
    failures: Sequence[SimilarFailure], patterns: Sequence[SimilarPattern]
) -> Iterator[SimilarFailure | SimilarPattern]:
    for pair in zip_longest(failures, patterns):
        yield from (each for each in pair if each is not None)
