"""Between which numbers, and of which types, a test asks a value to be: too many, or none at all."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from prd2pr.core.testfacts_model import dotted
from prd2pr.core.testfacts_truth import range_of
from prd2pr.core.testfacts_unroll import UNKNOWN, number

_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
    ast.Eq: ast.Eq,
}
_KINDS = frozenset({"str", "bytes", "int", "float", "bool", "list", "dict", "tuple", "set", "frozenset", "complex"})


@dataclass(frozen=True)
class Bounds:
    """What is asked of one value. Without `kinds`, of any type."""

    low: float = -inf
    high: float = inf
    open_low: bool = False
    open_high: bool = False
    kinds: frozenset[str] | None = None

    def and_also(self, other: Bounds) -> Bounds:
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
    def hold_nothing(self) -> bool:
        narrow = self.low > self.high or (self.low == self.high and (self.open_low or self.open_high))
        return narrow or (self.kinds is not None and not self.kinds)


def asked_of_values(node: ast.expr) -> Iterator[tuple[ast.expr, Bounds]]:
    """Each value in an asserted expression with what is asked of it; alternatives and denials are passed over."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        for part in node.values:
            yield from asked_of_values(part)
    elif isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
            yield from _compared(left, op, right)
    elif isinstance(node, ast.Call) and dotted(node.func) == "isinstance" and len(node.args) == 2:
        kinds = _kinds(node.args[1])
        if kinds:
            yield node.args[0], Bounds(kinds=kinds)


def _compared(left: ast.expr, op: ast.cmpop, right: ast.expr) -> Iterator[tuple[ast.expr, Bounds]]:
    span = range_of(right) if isinstance(op, ast.In) else None
    if span is not None and len(span):
        yield left, Bounds(min(span), max(span))
    elif (limit := number(right)) is not UNKNOWN:
        yield from ((left, each) for each in _bounds(type(op), limit))
    elif (limit := number(left)) is not UNKNOWN and type(op) in _MIRRORED:
        yield from ((right, each) for each in _bounds(_MIRRORED[type(op)], limit))


def _bounds(op: type[ast.cmpop], limit: float) -> Iterator[Bounds]:
    if op in {ast.Lt, ast.LtE}:
        yield Bounds(high=limit, open_high=op is ast.Lt)
    elif op in {ast.Gt, ast.GtE}:
        yield Bounds(low=limit, open_low=op is ast.Gt)
    elif op is ast.Eq:
        yield Bounds(limit, limit)


def _kinds(node: ast.expr) -> frozenset[str]:
    """The types in question, where all are built in. What is a bool is an int as well."""
    names = {dotted(item) for item in (node.elts if isinstance(node, ast.Tuple) else [node])}
    return frozenset(names | ({"bool"} if "int" in names else set())) if names <= _KINDS else frozenset()
