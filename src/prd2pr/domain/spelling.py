"""Detect misspelt commands.

Uses only the standard library, since the event filter runs without dependencies.
"""

from __future__ import annotations

from collections.abc import Iterable

MIN_WORD_LENGTH = 4  # shorter words are close to too many others
LONG_WORD = 6  # words of at least this length may have two typos


def find_near_word(word: str, known: Iterable[str]) -> str:
    """Return the known word that was probably meant, or an empty string if the word is correct or none is close."""
    words = tuple(known)
    if len(word) < MIN_WORD_LENGTH or word in words:
        return ""
    return next((each for typos in (1, 2) for each in words if is_within_typos(word, each, typos)), "")


def is_within_typos(word: str, known: str, typos: int) -> bool:
    """Return whether a word differs from a known one by at most `typos` errors.

    With two errors the first letter must match: `/improve`, a command of other bots, is not our `/approve`.
    """
    if len(known) < (MIN_WORD_LENGTH if typos == 1 else LONG_WORD) or abs(len(word) - len(known)) > typos:
        return False
    return (typos == 1 or word[0] == known[0]) and compute_edit_distance(word, known) <= typos


def compute_edit_distance(one: str, other: str) -> int:
    """Count missing, extra, wrong and swapped letters (Damerau-Levenshtein distance)."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, known in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != known))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == known:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]
