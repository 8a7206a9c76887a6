"""Whether two calls ended alike. What a call came to is plain data (`runners/recipes.py` tells it)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, Literal

Likeness = Literal["same", "close", "other"]

_NUMBERS = frozenset({"int", "float", "bool", "Decimal"})
_NEARLY = 1e-9  # sums that are made in another order


def likeness(old: Any, new: Any, *, unordered: bool = False) -> Likeness:
    """`close`: equal for most callers, though a type or an order is another."""
    if old == new:
        return "same"
    compare = _BY_SHAPE.get(old[0]) if old[0] == new[0] else None
    return compare(old, new, unordered) if compare else "other"


def _values(old: Any, new: Any, _unordered: bool) -> Likeness:
    if {old[1], new[1]} <= _NUMBERS:
        one, other = _number(old[2]), _number(new[2])
        if one is None or other is None:
            return "other"
        if one == other:
            return "close"
        if "float" in {old[1], new[1]} and math.isclose(one, other, rel_tol=_NEARLY, abs_tol=1e-12):
            return "same" if old[1] == new[1] else "close"
    return "other"


def _number(told: str) -> float | None:
    bare = {"True": "1", "False": "0"}.get(told, told.removeprefix("Decimal('").removesuffix("')"))
    try:
        return float(bare)
    except ValueError:
        return None


def _rows(old: Any, new: Any, unordered: bool) -> Likeness:
    alike = "same" if old[1] == new[1] else "close"
    if len(old[2]) == len(new[2]):
        found = [likeness(a, b, unordered=unordered) for a, b in zip(old[2], new[2], strict=True)]
        if "other" not in found:
            return _worst([alike, *found])
    if unordered and sorted(map(json.dumps, old[2])) == sorted(map(json.dumps, new[2])):
        return "close"
    return "other"


def _maps(old: Any, new: Any, unordered: bool) -> Likeness:
    before, after = ({json.dumps(key): value for key, value in told[2]} for told in (old, new))
    if before.keys() != after.keys():
        return "other"
    found = [likeness(before[key], after[key], unordered=unordered) for key in before]
    in_order = list(before) == list(after)
    return _worst(["same" if in_order and old[1] == new[1] else "close", *found])


def _sets(old: Any, new: Any, _unordered: bool) -> Likeness:
    return "close" if old[2] == new[2] else "other"


def _objects(old: Any, new: Any, unordered: bool) -> Likeness:
    """By the public attributes that both have: how an object keeps what it knows is its own affair."""
    if old[1] != new[1]:
        return "other"
    shared = old[2].keys() & new[2].keys()
    found = [likeness(old[2][name], new[2][name], unordered=unordered) for name in sorted(shared)]
    return _worst(["same", *found])


def _worst(found: list[Any]) -> Likeness:
    return "other" if "other" in found else "close" if "close" in found else "same"


_BY_SHAPE: dict[str, Callable[[Any, Any, bool], Likeness]] = {
    "value": _values,
    "row": _rows,
    "map": _maps,
    "set": _sets,
    "object": _objects,
}
