"""Derives the numeric range and the types that assertions allow for a value."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from prd2pr.languages.python.test_model.constants import UNKNOWN, evaluate_number, get_range
from prd2pr.languages.python.test_model.module import get_dotted_name

_MIRRORED_OPERATORS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
    ast.Eq: ast.Eq,
}
_BUILTIN_TYPES = frozenset(
    {"str", "bytes", "int", "float", "bool", "list", "dict", "tuple", "set", "frozenset", "complex"}
)


@dataclass(frozen=True)
class Bounds:
    """The range and types of one value. `kinds` is None if any type is allowed."""

    low: float = -inf
    high: float = inf
    open_low: bool = False
    open_high: bool = False
    kinds: frozenset[str] | None = None

    def intersect(self, other: Bounds) -> Bounds:
        low, high = max(self.low, other.low), min(self.high, other.high)
        kinds = [each.kinds for each in (self, other) if each.kinds is not None]
        return Bounds(
            low,
            high,
            any(each.open_low for each in (self, other) if each.low == low),
            any(each.open_high for each in (self, other) if each.high == high),
            frozenset.intersection(*kinds) if kinds else None,
        )

    @property
    def is_point(self) -> bool:
        return self.low == self.high

    @property
    def is_empty(self) -> bool:
        narrow = self.low > self.high or (self.low == self.high and (self.open_low or self.open_high))
        return narrow or (self.kinds is not None and not self.kinds)


def find_value_bounds(node: ast.expr) -> Iterator[tuple[ast.expr, Bounds]]:
    """Yield each value in an asserted expression with its bounds, skipping `or` and `not`."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        for part in node.values:
            yield from find_value_bounds(part)
    elif isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
            yield from _find_compared_bounds(left, op, right)
    elif isinstance(node, ast.Call) and get_dotted_name(node.func) == "isinstance" and len(node.args) == 2:
        kinds = _list_builtin_types(node.args[1])
        if kinds:
            yield node.args[0], Bounds(kinds=kinds)


def _find_compared_bounds(left: ast.expr, op: ast.cmpop, right: ast.expr) -> Iterator[tuple[ast.expr, Bounds]]:
    span = get_range(right) if isinstance(op, ast.In) else None
    if span is not None and len(span):
        yield left, Bounds(min(span), max(span))
    elif (limit := evaluate_number(right)) is not UNKNOWN:
        yield from ((left, each) for each in _make_bounds(type(op), limit))
    elif (limit := evaluate_number(left)) is not UNKNOWN and type(op) in _MIRRORED_OPERATORS:
        yield from ((right, each) for each in _make_bounds(_MIRRORED_OPERATORS[type(op)], limit))


def _make_bounds(op: type[ast.cmpop], limit: float) -> Iterator[Bounds]:
    if op in {ast.Lt, ast.LtE}:
        yield Bounds(high=limit, open_high=op is ast.Lt)
    elif op in {ast.Gt, ast.GtE}:
        yield Bounds(low=limit, open_low=op is ast.Gt)
    elif op is ast.Eq:
        yield Bounds(limit, limit)


def _list_builtin_types(node: ast.expr) -> frozenset[str]:
    """Return the types if all of them are built-in, otherwise an empty set. `int` includes `bool`."""
    names = {get_dotted_name(item) for item in (node.elts if isinstance(node, ast.Tuple) else [node])}
    return frozenset(names | ({"bool"} if "int" in names else set())) if names <= _BUILTIN_TYPES else frozenset()
