"""Shorten texts for the living docs."""

from __future__ import annotations

import re

from prd2pr.domain.wording import clean_line, clip

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])")
LONGEST = 320


def extract_first_sentences(text: str, longest: int = LONGEST) -> str:
    """Return as many whole sentences as fit, but at least part of the first one."""
    sentences = _SENTENCE_END.split(clean_line(text))
    shown = sentences[0]
    for sentence in sentences[1:]:
        if len(shown) + 1 + len(sentence) > longest:
            break
        shown = f"{shown} {sentence}"
    return clip(shown, longest)
