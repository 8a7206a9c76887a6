"""Decide from metrics alone whether to ask a model to refactor. Pure.

For short, plain functions, 30 of 30 recorded model answers were "nothing worth changing", and metrics give that answer
at no cost. A model is asked only if a metric reaches one of the thresholds below.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from prd2pr.domain.stack import Stack, is_python_stack
from prd2pr.languages.python.complexity import MEASURES, measure_files

REFACTORING_THRESHOLDS: Mapping[str, int] = MappingProxyType(
    {"complexity_max": 4, "longest_function": 15, "duplicate_lines": 1}
)
# In a conversation the programmer has just written all of the code. 8 of 8 answers about complexities from 4 to 8,
# mostly of comprehensions, were "nothing worth changing", and each cost more than the function.
CONVERSATION_THRESHOLDS: Mapping[str, int] = MappingProxyType({**REFACTORING_THRESHOLDS, "complexity_max": 9})


def measure_sources(stack: Stack, texts: Mapping[str, str]) -> dict[str, int]:
    """Measure these source files together, given as path → text. All metrics are 0 for an unsupported language."""
    if is_python_stack(stack):
        return measure_files(texts)
    from prd2pr.languages.registry import get_language

    return {**dict.fromkeys(MEASURES, 0), **get_language(stack.language).measure_source(texts)}


def is_simple_enough(
    before: Mapping[str, int], after: Mapping[str, int], thresholds: Mapping[str, int] = REFACTORING_THRESHOLDS
) -> bool:
    """Return whether no metric of the added code reaches a threshold. False if there are no functions to measure."""
    new = measure_growth(before, after)
    return after["functions"] > 0 and all(new[name] < least for name, least in thresholds.items())


def measure_growth(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Estimate the metrics of the code that the story added.

    If the largest function grew, it counts fully. Otherwise it existed before, and at most the growth counts.
    """
    grown = {name: after[name] - before[name] for name in MEASURES}
    branches = grown["complexity_sum"] - grown["functions"]
    most = {"complexity_max": 1 + branches, "longest_function": grown["lines"]}
    own = {name: after[name] if grown[name] > 0 else min(after[name], most[name]) for name in most}
    return {**own, "duplicate_lines": grown["duplicate_lines"]}
