"""Decide by measures alone whether a model should be asked to refactor. Pure.

For short, plain functions, 30 of 30 recorded model answers were "nothing worth changing", which counting shows at
no cost. A model is asked only if a measure reaches one of the thresholds below.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from prd2pr.domain.stack import Stack, is_python_stack
from prd2pr.languages.python.complexity import MEASURES, measure_files

REFACTORING_THRESHOLDS: Mapping[str, int] = MappingProxyType(
    {"complexity_max": 4, "longest_function": 15, "duplicate_lines": 1}
)


def measure_sources(stack: Stack, texts: Mapping[str, str]) -> dict[str, int]:
    """Measure these source files (path → text) together; all 0 if the language is not measured."""
    if is_python_stack(stack):
        return measure_files(texts)
    from prd2pr.languages.registry import get_language

    return {**dict.fromkeys(MEASURES, 0), **get_language(stack.language).measure_source(texts)}


def is_simple_enough(before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    """Whether nothing that the story added reaches a threshold. False for files without functions: not measured."""
    new = measure_growth(before, after)
    return after["functions"] > 0 and all(new[name] < least for name, least in REFACTORING_THRESHOLDS.items())


def measure_growth(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Estimate the measures of what the story added.

    The largest function counts fully if it grew; otherwise it was there before, and at most the growth counts.
    """
    grown = {name: after[name] - before[name] for name in MEASURES}
    branches = grown["complexity_sum"] - grown["functions"]
    most = {"complexity_max": 1 + branches, "longest_function": grown["lines"]}
    own = {name: after[name] if grown[name] > 0 else min(after[name], most[name]) for name in most}
    return {**own, "duplicate_lines": grown["duplicate_lines"]}
