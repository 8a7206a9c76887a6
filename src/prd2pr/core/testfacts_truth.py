"""Asserted expressions that are true of nearly any answer: by their form, by a wide range, or by a stand-in's own
equality."""

from __future__ import annotations

import ast

from prd2pr.core.sourcefacts_equality import ignores_other
from prd2pr.core.testfacts_live import Liveness
from prd2pr.core.testfacts_model import FunctionNode, dotted, resolve
from prd2pr.core.testfacts_unroll import UNKNOWN, number

WIDE_SPAN = 1000  # an answer from minus hundreds to plus hundreds is any answer
_LAZY = frozenset({"map", "filter", "zip", "iter", "enumerate", "reversed", "object"})
_TEXTS = frozenset({"str", "repr", "ascii", "format"})


def is_empty(node: ast.expr) -> bool:
    """An iterable that holds nothing: `[]`, `()`, `range(0)`, `list()`."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return not node.elts
    if isinstance(node, ast.Dict):
        return not node.keys
    if isinstance(node, ast.Constant):
        return node.value == ""
    if not isinstance(node, ast.Call) or node.keywords:
        return False
    name = dotted(node.func)
    if name in {"list", "tuple", "set", "dict", "frozenset"}:
        return all(is_empty(argument) for argument in node.args)
    span = range_of(node)
    return span is not None and not len(span)


def range_of(node: ast.expr) -> range | None:
    if not (isinstance(node, ast.Call) and dotted(node.func) == "range" and 1 <= len(node.args) <= 3):
        return None
    numbers = [number(argument) for argument in node.args]
    if not all(isinstance(each, int) for each in numbers) or numbers[2:] == [0]:
        return None
    return range(*numbers)


def true_anyway(node: ast.expr, live: Liveness) -> bool:
    """True whatever the subject gave, as far as the form of the expression shows."""
    if isinstance(node, ast.Lambda | ast.GeneratorExp) or is_filled(node):
        return True
    if isinstance(node, ast.Name):
        bound = live.bound_once.get(node.id)
        return isinstance(bound, ast.Tuple | ast.Lambda | ast.GeneratorExp) and true_anyway(bound, live)
    if isinstance(node, ast.Call):
        return _true_call(node, live)
    if isinstance(node, ast.Compare):
        return _true_compare(node, live)
    return False


def is_filled(node: ast.expr) -> bool:
    """`[add(2, 3)]` is true whatever it holds."""
    if isinstance(node, ast.Dict):
        return any(key is not None for key in node.keys)
    if isinstance(node, ast.JoinedStr):
        return any(isinstance(part, ast.Constant) for part in node.values)
    items = node.elts if isinstance(node, ast.List | ast.Set | ast.Tuple) else []
    return any(not isinstance(item, ast.Starred) for item in items)


def _true_call(node: ast.Call, live: Liveness) -> bool:
    name = dotted(node.func)
    if name in _LAZY | _TEXTS:
        return name not in live.scope.bound and name not in live.scope.helpers and bool(node.args or name == "object")
    first = node.args[0] if node.args else None
    if isinstance(node.func, ast.Attribute) and node.func.attr in {"startswith", "endswith"}:
        return isinstance(first, ast.Constant) and first.value == ""
    if first is None:
        return False
    if name in {"bool", "any"}:
        return true_anyway(first, live) if name == "bool" else _any_holds(first, live)
    if name == "all":
        return isinstance(first, ast.GeneratorExp | ast.ListComp) and any(is_empty(x.iter) for x in first.generators)
    return name == "isinstance" and len(node.args) == 2 and dotted(node.args[1]) == "object"


def _any_holds(first: ast.expr, live: Liveness) -> bool:
    if isinstance(first, ast.List | ast.Tuple | ast.Set):
        return any(true_anyway(item, live) or (isinstance(item, ast.Constant) and item.value) for item in first.elts)
    if not isinstance(first, ast.GeneratorExp | ast.ListComp) or len(first.generators) != 1:
        return False
    loop, test = first.generators[0], first.elt  # `any(mul(2, 3) == x for x in range(100))`
    span = range_of(loop.iter)
    if span is None or len(span) < 10 or loop.ifs or not isinstance(test, ast.Compare):
        return False
    sides = [test.left, *test.comparators]
    names = [{x.id for x in ast.walk(side) if isinstance(x, ast.Name)} for side in sides]
    alone = [isinstance(side, ast.Name) and side.id == dotted(loop.target) for side in sides]
    free = [dotted(loop.target) not in each for each in names]
    return isinstance(test.ops[0], ast.Eq) and len(sides) == 2 and any(alone) and any(free)


def _true_compare(node: ast.Compare, live: Liveness) -> bool:
    if len(node.ops) == 2:
        return _is_wide_between(node)
    if len(node.ops) != 1:
        return False
    left, op, right = node.left, node.ops[0], node.comparators[0]
    if isinstance(op, ast.In):
        return _is_in_anything(left, right, live)
    if isinstance(op, ast.Eq | ast.Is):
        for one, other in ((left, right), (right, left)):
            if isinstance(other, ast.Constant) and other.value is True and isinstance(one, ast.Call):
                return true_anyway(one, live)
            if _is_nothing_left(one, other) or _equals_anything(other, live, "__eq__"):
                return True
    return _is_known_length(node)


def _is_wide_between(node: ast.Compare) -> bool:
    ends = [number(node.left), number(node.comparators[1])]
    if UNKNOWN in ends or not all(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in node.ops):
        return False
    return _is_wide(min(ends), max(ends))


def _is_wide(low: float, high: float) -> bool:
    return low < 0 < high and high - low >= WIDE_SPAN


def _is_in_anything(left: ast.expr, right: ast.expr, live: Liveness) -> bool:
    span = range_of(right)
    if span is not None and len(span) and span.step == 1:
        return _is_wide(span.start, span.stop)
    empty = isinstance(left, ast.Constant) and left.value == ""
    text = (isinstance(right, ast.Call) and dotted(right.func) in _TEXTS) or isinstance(right, ast.JoinedStr)
    return (empty and text) or _equals_anything(right, live, "__contains__")


def _is_nothing_left(node: ast.expr, other: ast.expr) -> bool:
    """`mul(2, 3) * 0 == 0`"""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult) or number(other) != 0:
        return False
    return any(number(side) == 0 for side in (node.left, node.right))


def _is_known_length(node: ast.Compare) -> bool:
    """`len([add(2, 3)]) == 1`"""
    left, right = node.left, number(node.comparators[0])
    if not (isinstance(left, ast.Call) and dotted(left.func) == "len" and len(left.args) == 1) or right is UNKNOWN:
        return False
    inside = left.args[0]
    if not isinstance(inside, ast.List | ast.Tuple) or any(isinstance(item, ast.Starred) for item in inside.elts):
        return False
    return isinstance(node.ops[0], ast.Eq) and len(inside.elts) == right


def _equals_anything(node: ast.expr, live: Liveness, method: str) -> bool:
    """`mock.ANY`, or an object of the tests' own whose comparison does not look at what it is given."""
    if isinstance(node, ast.Name):
        node = live.bound_once.get(node.id) or live.module_constants.get(node.id) or node
    if resolve(dotted(node), live.scope.imports).endswith("mock.ANY"):
        return True
    name = dotted(node.func) if isinstance(node, ast.Call) else ""
    owner = live.scope.own_classes.get(name) or live.scope.suite.classes.get(name)
    methods = [x for x in owner.body if isinstance(x, FunctionNode) and x.name == method] if owner else []
    return any(ignores_other(each) for each in methods)
