"""Evaluates constant expressions: arithmetic, ranges, strings and comprehensions over literals."""

from __future__ import annotations

import ast
import copy
import operator
from collections.abc import Callable
from typing import Any

from prd2pr.languages.python.test_model.module import get_dotted_name

UNKNOWN = object()
_MAX_POWER = 64
_MAX_BITS = 4096  # bits of an integer
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


def evaluate_number(node: ast.expr) -> Any:
    """Return the value of arithmetic over plain numbers, such as `-10**9`, or `UNKNOWN`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = evaluate_number(node.operand)
        return UNKNOWN if value is UNKNOWN else -value
    if not isinstance(node, ast.BinOp) or type(node.op) not in _ARITHMETIC:
        return UNKNOWN
    left, right = evaluate_number(node.left), evaluate_number(node.right)
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


def unroll_comprehension(node: ast.expr) -> list[ast.expr] | None:
    """Return the items of `[f(a, b) for a, b in [(2, 3)]]`, or None if they are unknown."""
    if not isinstance(node, ast.ListComp | ast.GeneratorExp) or len(node.generators) != 1:
        return None
    loop = node.generators[0]
    rows = loop.iter.elts if isinstance(loop.iter, ast.List | ast.Tuple) else None
    names = [get_dotted_name(x) for x in (loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target])]
    if rows is None or not all(names):
        return None
    items: list[ast.expr] = []
    for row in rows:
        values = row.elts if isinstance(row, ast.Tuple) and isinstance(loop.target, ast.Tuple) else [row]
        if len(values) != len(names):
            return None
        given = _NameReplacer(dict(zip(names, values, strict=True)))
        kept = [_evaluate_condition(given.visit(copy.deepcopy(test))) for test in loop.ifs]
        if None in kept:
            return None
        if all(kept):
            items.append(given.visit(copy.deepcopy(node.elt)))
    return items


def _evaluate_condition(test: ast.expr) -> bool | None:
    """Return the outcome of a comparison of two numbers, or None if it is unknown."""
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1):
        return None
    left, right = evaluate_number(test.left), evaluate_number(test.comparators[0])
    compare = _COMPARES.get(type(test.ops[0]))
    return None if left is UNKNOWN or right is UNKNOWN or compare is None else compare(left, right)


class _NameReplacer(ast.NodeTransformer):
    def __init__(self, values: dict[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.values.get(node.id, node)


def is_empty_literal(node: ast.expr) -> bool:
    """Return whether the node is an empty iterable, such as `[]`, `()`, `range(0)` or `list()`."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return not node.elts
    if isinstance(node, ast.Dict):
        return not node.keys
    if isinstance(node, ast.Constant):
        return node.value == ""
    if not isinstance(node, ast.Call) or node.keywords:
        return False
    name = get_dotted_name(node.func)
    if name in {"list", "tuple", "set", "dict", "frozenset"}:
        return all(is_empty_literal(argument) for argument in node.args)
    span = get_range(node)
    return span is not None and not len(span)


def get_range(node: ast.expr) -> range | None:
    if not (isinstance(node, ast.Call) and get_dotted_name(node.func) == "range" and 1 <= len(node.args) <= 3):
        return None
    numbers = [evaluate_number(argument) for argument in node.args]
    if not all(isinstance(each, int) for each in numbers) or numbers[2:] == [0]:
        return None
    return range(*numbers)


def get_constant_text(node: ast.AST) -> str:
    """Return the value of a string constant or a concatenation of constants, otherwise an empty string."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = get_constant_text(node.left), get_constant_text(node.right)
        return left + right if left and right else ""
    if isinstance(node, ast.JoinedStr):
        parts = [
            get_constant_text(part.value if isinstance(part, ast.FormattedValue) else part) for part in node.values
        ]
        return "".join(parts) if all(parts) else ""
    return ""
