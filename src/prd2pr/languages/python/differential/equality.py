"""Compares two observed values, which are plain data from `probes/value_recipes.py`."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, Literal

Similarity = Literal["same", "close", "other"]

_NUMBER_TYPES = frozenset({"int", "float", "bool", "Decimal"})
_RELATIVE_TOLERANCE = 1e-9  # the same sum computed in a different order


def compare_values(old: Any, new: Any, *, unordered: bool = False) -> Similarity:
    """Compare two observed values.

    `close` means that most callers treat them as equal, although the type or order differs.
    """
    if old == new:
        return "same"
    compare = _COMPARERS.get(old[0]) if old[0] == new[0] else None
    return compare(old, new, unordered) if compare else "other"


def _compare_scalars(old: Any, new: Any, _unordered: bool) -> Similarity:
    if {old[1], new[1]} <= _NUMBER_TYPES:
        one, other = _parse_number(old[2]), _parse_number(new[2])
        if one is None or other is None:
            return "other"
        if one == other:
            return "close"
        if "float" in {old[1], new[1]} and math.isclose(one, other, rel_tol=_RELATIVE_TOLERANCE, abs_tol=1e-12):
            return "same" if old[1] == new[1] else "close"
    return "other"


def _parse_number(text: str) -> float | None:
    number = {"True": "1", "False": "0"}.get(text, text.removeprefix("Decimal('").removesuffix("')"))
    try:
        return float(number)
    except ValueError:
        return None


def _compare_sequences(old: Any, new: Any, unordered: bool) -> Similarity:
    types = "same" if old[1] == new[1] else "close"
    if len(old[2]) == len(new[2]):
        found = [compare_values(a, b, unordered=unordered) for a, b in zip(old[2], new[2], strict=True)]
        if "other" not in found:
            return _pick_lowest_similarity([types, *found])
    if unordered and sorted(map(json.dumps, old[2])) == sorted(map(json.dumps, new[2])):
        return "close"
    return "other"


def _compare_mappings(old: Any, new: Any, unordered: bool) -> Similarity:
    before, after = ({json.dumps(key): value for key, value in side[2]} for side in (old, new))
    if before.keys() != after.keys():
        return "other"
    found = [compare_values(before[key], after[key], unordered=unordered) for key in before]
    same_order = list(before) == list(after)
    return _pick_lowest_similarity(["same" if same_order and old[1] == new[1] else "close", *found])


def _compare_sets(old: Any, new: Any, _unordered: bool) -> Similarity:
    return "close" if old[2] == new[2] else "other"


def _compare_objects(old: Any, new: Any, unordered: bool) -> Similarity:
    """Compare the public attributes that both objects have. Their internal state may differ."""
    if old[1] != new[1]:
        return "other"
    shared = old[2].keys() & new[2].keys()
    found = [compare_values(old[2][name], new[2][name], unordered=unordered) for name in sorted(shared)]
    return _pick_lowest_similarity(["same", *found])


def _pick_lowest_similarity(found: list[Any]) -> Similarity:
    return "other" if "other" in found else "close" if "close" in found else "same"


_COMPARERS: dict[str, Callable[[Any, Any, bool], Similarity]] = {
    "value": _compare_scalars,
    "row": _compare_sequences,
    "map": _compare_mappings,
    "set": _compare_sets,
    "object": _compare_objects,
}
