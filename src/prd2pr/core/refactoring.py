"""Whether code that GREEN proved gives a reason to ask for a refactoring, by measure alone. Pure.

In the recordings that the tests hold, 30 of 30 answers about whole PRDs of short, plain functions were "nothing worth
changing": a call that says what counting says for nothing. Where anything reaches a number below, a model is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from prd2pr.core.complexity import MEASURES, measure_all
from prd2pr.core.stacks.stack import Stack, is_python

ENOUGH_TO_ASK: Mapping[str, int] = MappingProxyType({"complexity_max": 4, "longest_function": 15, "duplicate_lines": 1})


def measures_of(stack: Stack, texts: Mapping[str, str]) -> dict[str, int]:
    """Of these source files (path → text) together; all 0 where the language is not measured."""
    if is_python(stack):
        return measure_all(texts)
    from prd2pr.core.other.language import language_of

    return {**dict.fromkeys(MEASURES, 0), **language_of(stack.language).measure(texts)}


def is_plain(before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    """Nothing that the story brought gives a reason: what was there before it, other stories were asked about. Files
    without functions were not measured, so nothing is said of them."""
    reached = (name for name, least in ENOUGH_TO_ASK.items() if after[name] >= least)
    return after["functions"] > 0 and not any(after[name] > before[name] for name in reached)
