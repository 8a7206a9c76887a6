"""Words that are nearly ones of ours, told apart from those that are somebody else's. Standard library alone."""

from __future__ import annotations

from collections.abc import Iterable

SHORTEST = 4  # a shorter word is near to too many others
LONG = 6  # from here on two slips are still a slip


def near_word(word: str, known: Iterable[str]) -> str:
    """The known word that was probably meant; empty where none was, or where it is written right."""
    words = tuple(known)
    if len(word) < SHORTEST or word in words:
        return ""
    return next((each for slips in (1, 2) for each in words if within(word, each, slips)), "")


def within(word: str, known: str, slips: int) -> bool:
    """Whoever slips twice still begins right: `/improve`, which other bots obey, is not our `/approve`."""
    if len(known) < (SHORTEST if slips == 1 else LONG) or abs(len(word) - len(known)) > slips:
        return False
    return (slips == 1 or word[0] == known[0]) and distance(word, known) <= slips


def distance(one: str, other: str) -> int:
    """Letters that are missing, too many, wrong, or swapped with their neighbour."""
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
