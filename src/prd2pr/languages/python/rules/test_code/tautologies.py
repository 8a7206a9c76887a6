"""Finds asserted expressions that are true, or false, whatever the subject returns."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from prd2pr.languages.python.rules.source_code.equality import ignores_other_value
from prd2pr.languages.python.test_model.constants import UNKNOWN, evaluate_number, get_range, is_empty_literal
from prd2pr.languages.python.test_model.data_flow import Liveness
from prd2pr.languages.python.test_model.module import FunctionNode, get_dotted_name, resolve_name

_COMPARES: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.eq,
    ast.IsNot: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.Is: ast.IsNot,
    ast.Lt: ast.GtE,
    ast.Gt: ast.LtE,
    ast.In: ast.NotIn,
}
WIDE_SPAN = 1000  # a range from minus to plus several hundred accepts almost any result
_LAZY_BUILTINS = frozenset({"map", "filter", "zip", "iter", "enumerate", "reversed", "object"})
_TEXT_BUILTINS = frozenset({"str", "repr", "ascii", "format"})


def is_true_by_form(node: ast.expr, live: Liveness) -> bool:
    """Return whether the form of the expression makes it true whatever the subject returns."""
    if isinstance(node, ast.Lambda | ast.GeneratorExp) or is_nonempty_literal(node):
        return True
    if isinstance(node, ast.Name):
        bound = live.single_bindings.get(node.id)
        return isinstance(bound, ast.Tuple | ast.Lambda | ast.GeneratorExp) and is_true_by_form(bound, live)
    if isinstance(node, ast.Call):
        return _is_true_call(node, live)
    if isinstance(node, ast.Compare):
        return _is_true_comparison(node, live)
    return False


def is_nonempty_literal(node: ast.expr) -> bool:
    """Return whether the literal is not empty and therefore always true, such as `[add(2, 3)]`."""
    if isinstance(node, ast.Dict):
        return any(key is not None for key in node.keys)
    if isinstance(node, ast.JoinedStr):
        return any(isinstance(part, ast.Constant) for part in node.values)
    items = node.elts if isinstance(node, ast.List | ast.Set | ast.Tuple) else []
    return any(not isinstance(item, ast.Starred) for item in items)


def _is_true_call(node: ast.Call, live: Liveness) -> bool:
    name = get_dotted_name(node.func)
    if name in _LAZY_BUILTINS | _TEXT_BUILTINS:
        return (
            name not in live.scope.bound_names
            and name not in live.scope.helpers
            and bool(node.args or name == "object")
        )
    first = node.args[0] if node.args else None
    if isinstance(node.func, ast.Attribute) and node.func.attr in {"startswith", "endswith"}:
        return isinstance(first, ast.Constant) and first.value == ""
    if first is None:
        return False
    if name in {"bool", "any"}:
        return is_true_by_form(first, live) if name == "bool" else _is_true_any(first, live)
    if name == "all":
        return isinstance(first, ast.GeneratorExp | ast.ListComp) and any(
            is_empty_literal(x.iter) for x in first.generators
        )
    return name == "isinstance" and len(node.args) == 2 and get_dotted_name(node.args[1]) == "object"


def _is_true_any(first: ast.expr, live: Liveness) -> bool:
    if isinstance(first, ast.List | ast.Tuple | ast.Set):
        return any(
            is_true_by_form(item, live) or (isinstance(item, ast.Constant) and item.value) for item in first.elts
        )
    if not isinstance(first, ast.GeneratorExp | ast.ListComp) or len(first.generators) != 1:
        return False
    loop, test = first.generators[0], first.elt  # `any(mul(2, 3) == x for x in range(100))`
    span = get_range(loop.iter)
    if span is None or len(span) < 10 or loop.ifs or not isinstance(test, ast.Compare):
        return False
    sides = [test.left, *test.comparators]
    names = [{x.id for x in ast.walk(side) if isinstance(x, ast.Name)} for side in sides]
    alone = [isinstance(side, ast.Name) and side.id == get_dotted_name(loop.target) for side in sides]
    free = [get_dotted_name(loop.target) not in each for each in names]
    return isinstance(test.ops[0], ast.Eq) and len(sides) == 2 and any(alone) and any(free)


def _is_true_comparison(node: ast.Compare, live: Liveness) -> bool:
    if len(node.ops) == 2:
        return _is_wide_chain(node)
    if len(node.ops) != 1:
        return False
    left, op, right = node.left, node.ops[0], node.comparators[0]
    if isinstance(op, ast.In):
        return _is_wide_membership(left, right, live)
    if isinstance(op, ast.Eq | ast.Is):
        for one, other in ((left, right), (right, left)):
            if isinstance(other, ast.Constant) and other.value is True and isinstance(one, ast.Call):
                return is_true_by_form(one, live)
            if _is_product_with_zero(one, other) or _accepts_anything(other, live, "__eq__"):
                return True
    return _is_literal_length(node)


def _is_wide_chain(node: ast.Compare) -> bool:
    ends = [evaluate_number(node.left), evaluate_number(node.comparators[1])]
    if UNKNOWN in ends or not all(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in node.ops):
        return False
    return _is_wide_range(min(ends), max(ends))


def _is_wide_range(low: float, high: float) -> bool:
    return low < 0 < high and high - low >= WIDE_SPAN


def _is_wide_membership(left: ast.expr, right: ast.expr, live: Liveness) -> bool:
    span = get_range(right)
    if span is not None and len(span) and span.step == 1:
        return _is_wide_range(span.start, span.stop)
    empty = isinstance(left, ast.Constant) and left.value == ""
    text = (isinstance(right, ast.Call) and get_dotted_name(right.func) in _TEXT_BUILTINS) or isinstance(
        right, ast.JoinedStr
    )
    return (empty and text) or _accepts_anything(right, live, "__contains__")


def _is_product_with_zero(node: ast.expr, other: ast.expr) -> bool:
    """Return whether the comparison has the form `mul(2, 3) * 0 == 0`."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult) or evaluate_number(other) != 0:
        return False
    return any(evaluate_number(side) == 0 for side in (node.left, node.right))


def _is_literal_length(node: ast.Compare) -> bool:
    """Return whether the comparison has the form `len([add(2, 3)]) == 1`."""
    left, right = node.left, evaluate_number(node.comparators[0])
    if (
        not (isinstance(left, ast.Call) and get_dotted_name(left.func) == "len" and len(left.args) == 1)
        or right is UNKNOWN
    ):
        return False
    inside = left.args[0]
    if not isinstance(inside, ast.List | ast.Tuple) or any(isinstance(item, ast.Starred) for item in inside.elts):
        return False
    return isinstance(node.ops[0], ast.Eq) and len(inside.elts) == right


def _accepts_anything(node: ast.expr, live: Liveness, method: str) -> bool:
    """Return whether the value is `mock.ANY`, or an instance of a test class whose comparison ignores its operand."""
    if isinstance(node, ast.Name):
        node = live.single_bindings.get(node.id) or live.module_constants.get(node.id) or node
    if resolve_name(get_dotted_name(node), live.scope.imports).endswith("mock.ANY"):
        return True
    name = get_dotted_name(node.func) if isinstance(node, ast.Call) else ""
    owner = live.scope.own_classes.get(name) or live.scope.suite.classes.get(name)
    methods = [x for x in owner.body if isinstance(x, FunctionNode) and x.name == method] if owner else []
    return any(ignores_other_value(each) for each in methods)


# --- constants --------------------------------------------------------------------------------------------------------


def fold_constants(node: ast.expr, live: Liveness) -> Any:
    """Return the value of a constant expression, or `UNKNOWN`. Only its truth value is used."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        bound = live.constants.get(node.id)
        return UNKNOWN if bound is None else bound.value
    if isinstance(node, ast.UnaryOp):
        return _fold_unary(node, live)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _fold_compare(node, live)
    return _fold_collection(node, live)


def _fold_collection(node: ast.expr, live: Liveness) -> Any:
    if not isinstance(node, ast.List | ast.Tuple | ast.Set | ast.BoolOp):
        return UNKNOWN
    values = [fold_constants(item, live) for item in (node.values if isinstance(node, ast.BoolOp) else node.elts)]
    if any(value is UNKNOWN for value in values):
        return UNKNOWN
    if isinstance(node, ast.BoolOp):
        return all(values) if isinstance(node.op, ast.And) else any(values)
    return tuple(values)


def _fold_unary(node: ast.UnaryOp, live: Liveness) -> Any:
    value = fold_constants(node.operand, live)
    if value is UNKNOWN:
        return UNKNOWN
    if isinstance(node.op, ast.Not):
        return not value
    return -value if isinstance(node.op, ast.USub) and isinstance(value, int | float) else UNKNOWN


def _fold_compare(node: ast.Compare, live: Liveness) -> Any:
    left, right = fold_constants(node.left, live), fold_constants(node.comparators[0], live)
    compare = _COMPARES.get(type(node.ops[0]))
    if left is UNKNOWN or right is UNKNOWN or compare is None:
        return UNKNOWN
    try:
        return compare(left, right)
    except TypeError:  # "a" < 1
        return UNKNOWN


# --- always true ------------------------------------------------------------------------------------------------------


def is_always_true(node: ast.expr, live: Liveness) -> bool:
    if isinstance(node, ast.IfExp):
        return all(
            fold_constants(branch, live) is not UNKNOWN and fold_constants(branch, live)
            for branch in (node.body, node.orelse)
        )
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        compared = _is_trivial_comparison(node.left, node.ops[0], node.comparators[0], live)
        return compared or is_true_by_form(node, live)
    return is_true_by_form(node, live)


def _is_trivial_comparison(left: ast.expr, op: ast.cmpop, right: ast.expr, live: Liveness) -> bool:
    # An attribute may be a property, and two calls may differ, so only a plain name is certain to equal itself.
    same = isinstance(left, ast.Name) and get_dotted_name(left) == get_dotted_name(right)
    if same and isinstance(op, ast.Eq | ast.Is | ast.LtE | ast.GtE):
        return True
    sized = isinstance(left, ast.Call) and get_dotted_name(left.func) == "len"
    limit = fold_constants(right, live)
    return sized and ((isinstance(op, ast.GtE) and limit == 0) or (isinstance(op, ast.Gt) and limit == -1))


def are_complementary(left: ast.expr, right: ast.expr) -> bool:
    for one, other in ((left, right), (right, left)):
        if (
            isinstance(other, ast.UnaryOp)
            and isinstance(other.op, ast.Not)
            and ast.dump(other.operand) == ast.dump(one)
        ):
            return True
        if isinstance(one, ast.Compare) and isinstance(other, ast.Compare) and len(one.ops) == len(other.ops) == 1:
            same = ast.dump(one.left) == ast.dump(other.left) and ast.dump(one.comparators[0]) == ast.dump(
                other.comparators[0]
            )
            if same and _OPPOSITES.get(type(one.ops[0])) is type(other.ops[0]):
                return True
    return False
