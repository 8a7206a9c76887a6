"""Texts as searches: the words that tell something, cut to what their forms have in common."""

from __future__ import annotations

import re

MOST_WORDS = 12  # that one search looks for
MOST_CONSIDERED = 120  # of which the rarest are looked for
MOST_TEXT = 20_000  # characters: what a longer text is about stands at its beginning
SHORTEST = 3
CHARS_PER_TOKEN = 4  # of English prose and code, about; only caps are counted with it

# Words that stand in every text about software, or in every English sentence.
FILLING = """
a about above add adds after again all also an and another any are as at be because been before being below between
both but by can could did do does doing done down during each either else ever every few for from further get gets
give given gives had has have having he her here hers him his how i if in into is it its just like made make makes
many may me might more most much must my need needs new no nor not now of off on once one only or other others our
out over own per same she should so some such take takes than that the their them then there these they this those
through to too two under until up upon use used user users uses using very via want wants was way we were what when
where which while who whom whose why will with within without would you your
"""
STOP_WORDS = frozenset(FILLING.split())
WORD = re.compile(r"[^\W_]+")
ENDINGS = ("ations", "ation", "ings", "ing", "ions", "ion", "ies", "ied", "ers", "er", "ed", "es", "s", "y", "e")
STEM = 4  # what is left of a word after an ending was cut off it has at least so many letters


def telling_words(text: str) -> tuple[str, ...]:
    """Beginnings of words, each once, in the order of the text."""
    words = (word for word in WORD.findall(text[:MOST_TEXT].lower()) if len(word) >= SHORTEST)
    return tuple(dict.fromkeys(stem(word) for word in words if word not in STOP_WORDS))[:MOST_CONSIDERED]


def stem(word: str) -> str:
    """`notifications` and `notifying` become beginnings that both forms have; numbers stay as they are."""
    if not word.isalpha():
        return word
    ending = next((each for each in ENDINGS if word.endswith(each) and len(word) - len(each) >= STEM), "")
    return word[: len(word) - len(ending)]


def match_text(words: tuple[str, ...]) -> str:
    """For FTS5: any of them, as the beginning of a word. They hold letters and digits only, so nothing is escaped."""
    return " OR ".join(f'"{word}"*' for word in words)


def shared(words: tuple[str, ...], text: str) -> int:
    """How many of the words a text has."""
    there = WORD.findall(text.lower())
    return sum(any(each.startswith(word) for each in there) for word in words)


def tokens_of(text: str) -> int:
    return -(-len(text) // CHARS_PER_TOKEN)
