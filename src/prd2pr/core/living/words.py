"""Small words of the living docs."""

from __future__ import annotations

import re

from prd2pr.core.wording import clip, plain

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])")
LONGEST = 320


def beginning(text: str, longest: int = LONGEST) -> str:
    """As many whole sentences as fit, at least a part of the first one."""
    sentences = _SENTENCE_END.split(plain(text))
    shown = sentences[0]
    for sentence in sentences[1:]:
        if len(shown) + 1 + len(sentence) > longest:
            break
        shown = f"{shown} {sentence}"
    return clip(shown, longest)
