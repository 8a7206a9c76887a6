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
    """Nothing that the story brought gives a reason. Files without functions were not measured, so nothing is said of
    them."""
    new = brought(before, after)
    return after["functions"] > 0 and all(new[name] < least for name, least in ENOUGH_TO_ASK.items())


def brought(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """What may be the story's own of the greatest and the longest function: all of it where that has grown; beside a
    worse one that was there before, no more than all that came."""
    grown = {name: after[name] - before[name] for name in MEASURES}
    branches = grown["complexity_sum"] - grown["functions"]
    most = {"complexity_max": 1 + branches, "longest_function": grown["lines"]}
    own = {name: after[name] if grown[name] > 0 else min(after[name], most[name]) for name in most}
    return {**own, "duplicate_lines": grown["duplicate_lines"]}
