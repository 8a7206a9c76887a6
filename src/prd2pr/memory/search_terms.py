"""Turn texts into search terms: significant words, reduced to their stems."""

from __future__ import annotations

import re

MAX_SEARCH_WORDS = 12  # per search
MAX_CONSIDERED_WORDS = 120  # words considered, of which the rarest are searched
MAX_SEARCH_TEXT = 20_000  # characters; the subject of a longer text is at its beginning
MIN_WORD_LENGTH = 3
CHARS_PER_TOKEN = 4  # approximate, for English prose and code; used only for limits

# Words that are common in English or in texts about software.
STOP_WORD_TEXT = """
a about above add adds after again all also an and another any are as at be because been before being below between
both but by can could did do does doing done down during each either else ever every few for from further get gets
give given gives had has have having he her here hers him his how i if in into is it its just like made make makes
many may me might more most much must my need needs new no nor not now of off on once one only or other others our
out over own per same she should so some such take takes than that the their them then there these they this those
through to too two under until up upon use used user users uses using very via want wants was way we were what when
where which while who whom whose why will with within without would you your
"""
STOP_WORDS = frozenset(STOP_WORD_TEXT.split())
WORD = re.compile(r"[^\W_]+")
SUFFIXES = ("ations", "ation", "ings", "ing", "ions", "ion", "ies", "ied", "ers", "er", "ed", "es", "s", "y", "e")
MIN_STEM_LENGTH = 4  # letters that must remain after a suffix is removed


def extract_search_words(text: str) -> tuple[str, ...]:
    """Return the stems of the significant words, in order and without duplicates."""
    words = (word for word in WORD.findall(text[:MAX_SEARCH_TEXT].lower()) if len(word) >= MIN_WORD_LENGTH)
    return tuple(dict.fromkeys(stem_word(word) for word in words if word not in STOP_WORDS))[:MAX_CONSIDERED_WORDS]


def stem_word(word: str) -> str:
    """Return the word's stem, which is the same for `notifications` and `notifying`. Numbers are not changed."""
    if not word.isalpha():
        return word
    ending = next((each for each in SUFFIXES if word.endswith(each) and len(word) - len(each) >= MIN_STEM_LENGTH), "")
    return word[: len(word) - len(ending)]


def build_match_query(words: tuple[str, ...]) -> str:
    """Build an FTS5 query for any of the words as a prefix.

    The words contain only letters and digits, so nothing has to be escaped.
    """
    return " OR ".join(f'"{word}"*' for word in words)


def count_shared_words(words: tuple[str, ...], text: str) -> int:
    """Count how many of the words occur in a text."""
    there = WORD.findall(text.lower())
    return sum(any(each.startswith(word) for each in there) for word in words)


def count_text_tokens(text: str) -> int:
    return -(-len(text) // CHARS_PER_TOKEN)
