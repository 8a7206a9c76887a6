"""What constants alone decide: arithmetic over numbers, and comprehensions over literals."""

from __future__ import annotations

import ast
import copy
import operator
from collections.abc import Callable
from typing import Any

from prd2pr.core.testfacts_model import dotted

UNKNOWN = object()
_MAX_POWER = 64
_MAX_BITS = 4096  # of a whole number
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
}
_COMPARES: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def number(node: ast.expr) -> Any:
    """The value of arithmetic over plain numbers, such as `-10**9`, or `UNKNOWN`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = number(node.operand)
        return UNKNOWN if value is UNKNOWN else -value
    if not isinstance(node, ast.BinOp) or type(node.op) not in _ARITHMETIC:
        return UNKNOWN
    left, right = number(node.left), number(node.right)
    if left is UNKNOWN or right is UNKNOWN or (isinstance(node.op, ast.Pow) and not _is_small_power(left, right)):
        return UNKNOWN
    try:
        return _ARITHMETIC[type(node.op)](left, right)
    except OverflowError:
        return UNKNOWN


def _is_small_power(left: float, right: float) -> bool:
    bits = left.bit_length() if isinstance(left, int) else 0
    return 0 <= right <= _MAX_POWER and bits * right <= _MAX_BITS


# --- comprehensions over constants ------------------------------------------------------------------------------------


def unrolled(node: ast.expr) -> list[ast.expr] | None:
    """The items of `[f(a, b) for a, b in [(2, 3)]]`, or None where they cannot be told."""
    if not isinstance(node, ast.ListComp | ast.GeneratorExp) or len(node.generators) != 1:
        return None
    loop = node.generators[0]
    rows = loop.iter.elts if isinstance(loop.iter, ast.List | ast.Tuple) else None
    names = [dotted(x) for x in (loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target])]
    if rows is None or not all(names):
        return None
    items: list[ast.expr] = []
    for row in rows:
        values = row.elts if isinstance(row, ast.Tuple) and isinstance(loop.target, ast.Tuple) else [row]
        if len(values) != len(names):
            return None
        given = _Given(dict(zip(names, values, strict=True)))
        kept = [_holds(given.visit(copy.deepcopy(test))) for test in loop.ifs]
        if None in kept:
            return None
        if all(kept):
            items.append(given.visit(copy.deepcopy(node.elt)))
    return items


def _holds(test: ast.expr) -> bool | None:
    """Whether one number stands to another as it says; None where that cannot be told."""
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1):
        return None
    left, right = number(test.left), number(test.comparators[0])
    compare = _COMPARES.get(type(test.ops[0]))
    return None if left is UNKNOWN or right is UNKNOWN or compare is None else compare(left, right)


class _Given(ast.NodeTransformer):
    def __init__(self, values: dict[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.values.get(node.id, node)
