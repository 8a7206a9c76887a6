"""What is wrong with an asserted expression: always true, always false, too wide, or not about the subject."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from itertools import combinations
from math import inf
from typing import Any

from prd2pr.core.testfacts_bounds import asked_of_values
from prd2pr.core.testfacts_chance import speaks_of_chance
from prd2pr.core.testfacts_live import Liveness, only_asks_existence
from prd2pr.core.testfacts_model import dotted, resolve
from prd2pr.core.testfacts_truth import WIDE_SPAN, true_anyway
from prd2pr.core.testfacts_unroll import UNKNOWN as _UNKNOWN
from prd2pr.core.testfacts_unroll import number

Fault = tuple[str, str]  # code, what it does

_PLAIN_TYPES = frozenset({"str", "bytes", "int", "float", "bool", "list", "dict", "tuple", "set", "object"})
ROUGH = 100  # whoever divides by so much, and asks for nothing or one, lets most numbers pass
_WIDE = 0.5  # with a tolerance beyond half the value, wrong values pass
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


def expression_fault(node: ast.expr, live: Liveness) -> Fault | None:
    if isinstance(node, ast.Tuple) and node.elts:
        return "RED402", "asserts a tuple, which is always true: drop the parentheses"
    if isinstance(node, ast.IfExp) and (chosen := fold(node.test, live)) is not _UNKNOWN:
        return expression_fault(node.body if chosen else node.orelse, live)
    value = fold(node, live)
    if value is not _UNKNOWN:
        return ("RED401", "is always true") if value else ("RED306", "fails on purpose, whatever the subject does")
    if isinstance(node, ast.BoolOp):
        return _of_several(node, live)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = expression_fault(node.operand, live)
        return inner if inner and inner[0] in {"RED402", "RED410", "RED401"} else None
    return _of_one(node, live)


def _of_several(node: ast.BoolOp, live: Liveness) -> Fault | None:
    faults = [expression_fault(value, live) for value in node.values]
    if isinstance(node.op, ast.And):
        return next((fault for fault in faults), None) if all(faults) else next(_serious(faults), None)
    if any(_complement(left, right) for left, right in combinations(node.values, 2)):
        return "RED401", "is true either way"
    always = next((fault for fault in faults if fault and fault[0] != "RED306"), None)
    return always or _alternatives_of_or(node)


def _serious(faults: list[Fault | None]) -> Iterator[Fault]:
    yield from (fault for fault in faults if fault and fault[0] in {"RED306", "RED402", "RED407", "RED411"})


def _of_one(node: ast.expr, live: Liveness) -> Fault | None:
    if _always_true(node, live) or isinstance(node, ast.JoinedStr):  # f"{wrong}" is a text, and not an empty one
        return "RED401", "is true of any value"
    if _names_subject_only(node, live):
        return "RED410", "only asks whether the subject exists"
    wide = _too_wide(node, live)
    if wide:
        return "RED407", f"allows a tolerance of {wide}: a wrong value passes"
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In):
        options = node.comparators[0]
        fault = _alternatives(live.module_constants.get(dotted(options), options))
        if fault:
            return fault
    if not live.is_live(node):
        return "RED401", "is made of constants alone, not of what the subject did"
    return None


# --- constants --------------------------------------------------------------------------------------------------------


def fold(node: ast.expr, live: Liveness) -> Any:
    """The value of an expression that constants alone decide, or `_UNKNOWN`. Only its truth is used."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        bound = live.constants.get(node.id)
        return _UNKNOWN if bound is None else bound.value
    if isinstance(node, ast.UnaryOp):
        return _fold_unary(node, live)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _fold_compare(node, live)
    return _fold_several(node, live)


def _fold_several(node: ast.expr, live: Liveness) -> Any:
    if not isinstance(node, ast.List | ast.Tuple | ast.Set | ast.BoolOp):
        return _UNKNOWN
    values = [fold(item, live) for item in (node.values if isinstance(node, ast.BoolOp) else node.elts)]
    if any(value is _UNKNOWN for value in values):
        return _UNKNOWN
    if isinstance(node, ast.BoolOp):
        return all(values) if isinstance(node.op, ast.And) else any(values)
    return tuple(values)


def _fold_unary(node: ast.UnaryOp, live: Liveness) -> Any:
    value = fold(node.operand, live)
    if value is _UNKNOWN:
        return _UNKNOWN
    if isinstance(node.op, ast.Not):
        return not value
    return -value if isinstance(node.op, ast.USub) and isinstance(value, int | float) else _UNKNOWN


def _fold_compare(node: ast.Compare, live: Liveness) -> Any:
    left, right = fold(node.left, live), fold(node.comparators[0], live)
    compare = _COMPARES.get(type(node.ops[0]))
    if left is _UNKNOWN or right is _UNKNOWN or compare is None:
        return _UNKNOWN
    try:
        return compare(left, right)
    except TypeError:  # "a" < 1
        return _UNKNOWN


# --- always true ------------------------------------------------------------------------------------------------------


def _always_true(node: ast.expr, live: Liveness) -> bool:
    if isinstance(node, ast.IfExp):
        return all(fold(branch, live) is not _UNKNOWN and fold(branch, live) for branch in (node.body, node.orelse))
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        compared = _holds_anyway(node.left, node.ops[0], node.comparators[0], live)
        return compared or true_anyway(node, live)
    return true_anyway(node, live)


def _holds_anyway(left: ast.expr, op: ast.cmpop, right: ast.expr, live: Liveness) -> bool:
    # An attribute may be a property, and a call may answer differently each time: only a plain name is itself.
    same = isinstance(left, ast.Name) and dotted(left) == dotted(right)
    if same and isinstance(op, ast.Eq | ast.Is | ast.LtE | ast.GtE):
        return True
    sized = isinstance(left, ast.Call) and dotted(left.func) == "len"
    limit = fold(right, live)
    return sized and ((isinstance(op, ast.GtE) and limit == 0) or (isinstance(op, ast.Gt) and limit == -1))


def _complement(left: ast.expr, right: ast.expr) -> bool:
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


def _names_subject_only(node: ast.expr, live: Liveness) -> bool:
    place: ast.AST = node
    if only_asks_existence(node):
        place = node.args[0] if isinstance(node, ast.Call) and node.args else getattr(node, "left", node)
    name = dotted(place)
    own_name = isinstance(node, ast.Compare) and dotted(node.left).rpartition(".")[2] in {"__name__", "__qualname__"}
    if own_name and isinstance(node, ast.Compare) and isinstance(node.comparators[0], ast.Constant):
        place = node.left
        name = dotted(place).rpartition(".")[0]
    hidden = live.assigned | {argument.arg for argument in live.scope.test.node.args.args}
    if not name or name.partition(".")[0] in hidden or not live.scope.is_subject(name):
        return False
    # `assert shop.DEBUG` reads a value; `assert shop.add` and `assert add` do not call anything.
    return place is not node or "." not in name


def says_little(node: ast.expr, live: Liveness) -> str:
    """What an assertion that holds for most wrong answers asks; beside a better one it does no harm."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.IsNot):
        right = node.comparators[0]
        if isinstance(right, ast.Constant) and right.value is None:
            return "that the answer is not None"
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.NotEq):
        right = node.comparators[0]
        if isinstance(right, ast.Constant) and right.value is not None and right.value not in {"", 0, 1}:
            return "that the answer is not one particular value"
    if isinstance(node, ast.Call) and dotted(node.func) == "isinstance" and len(node.args) == 2:
        kinds = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
        if all(dotted(kind) in _PLAIN_TYPES for kind in kinds):
            return "for the type of the answer"
    if (wide := _wide_bounds(node)) and not speaks_of_chance(live.scope):
        return f"that the answer lies between {wide}"
    names = {resolve(dotted(x.func), live.scope.imports) for x in ast.walk(node) if isinstance(x, ast.Call)}
    return "for the parameters" if names & {"inspect.signature", "inspect.getfullargspec"} else ""


def _wide_bounds(node: ast.expr) -> str:
    """`0 <= fee(5) <= 10**6`: whatever number one expects lies there."""
    asked = list(asked_of_values(node))
    if len(asked) > 2 or len({ast.dump(value) for value, _ in asked}) != 1:
        return ""
    bounds = asked[0][1].and_also(asked[-1][1])
    wide = bounds.kinds is None and bounds.low <= 1 and WIDE_SPAN - 1 <= bounds.high - bounds.low < inf
    return f"{bounds.low} and {bounds.high}" if wide else ""


# --- too wide ---------------------------------------------------------------------------------------------------------


def _too_wide(node: ast.expr, live: Liveness) -> str:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call):
            name = resolve(dotted(inner.func), live.scope.imports).rpartition(".")[2]
            if name in {"approx", "isclose", "allclose"}:
                return _wide_call(inner, name, live)
    return _wide_distance(node, live) or _wide_rounding(node)


def _wide_rounding(node: ast.expr) -> str:
    """`round(total, -3) == 0`, and `total // 1000 == 0`"""
    if not (isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq)):
        return ""
    if isinstance(node.left, ast.BinOp) and isinstance(node.left.op, ast.FloorDiv):
        width, times = number(node.left.right), number(node.comparators[0])
        other = node.comparators[0]
        if isinstance(other, ast.BinOp) and isinstance(other.op, ast.FloorDiv) and number(other.right) == width:
            whole = number(other.left)
            times = whole // width if _UNKNOWN not in (whole, width) and width else _UNKNOWN
        rough = _UNKNOWN not in (width, times) and width >= ROUGH and 0 <= times <= 1
        return f"{width}" if rough else ""
    if not isinstance(node.left, ast.Call):
        return ""
    call, expected = node.left, number(node.comparators[0])
    if dotted(call.func) != "round" or len(call.args) != 2 or expected is _UNKNOWN:
        return ""
    digits = number(call.args[1])
    rough = isinstance(digits, int) and digits < 0 and 10**-digits > abs(expected)
    return f"± {10**-digits // 2}" if rough else ""


def _wide_call(call: ast.Call, name: str, live: Liveness) -> str:
    expected = fold(call.args[0 if name == "approx" else -1], live) if call.args else _UNKNOWN
    told = {name: _known(value, live) for name, value in _told(call, name, live)}
    infinite = any("inf" in ast.unparse(keyword.value) for keyword in call.keywords)
    relative = next((told[key] for key in ("rel", "rel_tol", "rtol") if key in told), 0)
    absolute = next((told[key] for key in ("abs", "abs_tol", "atol") if key in told), 0)
    if infinite:
        return "infinity"
    if isinstance(relative, int | float) and relative >= _WIDE:
        return f"{relative:.0%}"
    return f"± {absolute}" if _exceeds(absolute, expected) else ""


def _told(call: ast.Call, name: str, live: Liveness) -> Iterator[tuple[str, ast.expr]]:
    """Tolerances by name: `approx(273, 0.9)` gives a relative one, and so does `approx(273, **{"rel": 0.9})`."""
    places = {"approx": ("", "rel", "abs"), "allclose": ("", "", "rtol", "atol")}.get(name, ())
    yield from ((place, value) for place, value in zip(places, call.args, strict=False) if place)
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield keyword.arg, keyword.value
        elif isinstance(spread := live.module_constants.get(dotted(keyword.value), keyword.value), ast.Dict):
            pairs = zip(spread.keys, spread.values, strict=True)
            yield from ((str(key.value), value) for key, value in pairs if isinstance(key, ast.Constant))


def _known(node: ast.expr, live: Liveness) -> Any:
    """A number that is written there, or under a name of the module."""
    value = fold(node, live)
    meant = live.module_constants.get(dotted(node)) if value is _UNKNOWN else None
    return value if meant is None else number(meant)


def _exceeds(tolerance: Any, expected: Any) -> bool:
    if not isinstance(tolerance, int | float) or isinstance(tolerance, bool):
        return False
    if isinstance(expected, int | float) and expected != 0:
        return tolerance > abs(expected) * _WIDE
    return tolerance >= 1000


def _wide_distance(node: ast.expr, live: Liveness) -> str:
    """`abs(total - 90) < 1000`, and `abs(total - 90) / 90 < 1`"""
    if not (isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Lt | ast.LtE)):
        return ""
    limit = _known(node.comparators[0], live)
    share = isinstance(node.left, ast.BinOp) and isinstance(node.left.op, ast.Div)
    call = node.left.left if isinstance(node.left, ast.BinOp) and share else node.left
    if not isinstance(call, ast.Call):
        return ""
    if dotted(call.func) != "abs" or not call.args or not isinstance(call.args[0], ast.BinOp):
        return ""
    if not isinstance(call.args[0].op, ast.Sub):
        return ""
    sides = [fold(side, live) for side in (call.args[0].left, call.args[0].right)]
    expected = next((side for side in sides if side is not _UNKNOWN), _UNKNOWN)
    if share:
        return f"{limit:.0%}" if isinstance(limit, int | float) and limit >= _WIDE else ""
    return f"± {limit}" if expected is not _UNKNOWN and _exceeds(limit, expected) else ""


# --- alternatives -----------------------------------------------------------------------------------------------------


def _alternatives(node: ast.expr) -> Fault | None:
    if not isinstance(node, ast.Tuple | ast.List | ast.Set) or len(node.elts) < 2:
        return None
    if not all(isinstance(item, ast.Constant) for item in node.elts):
        return None
    return _opposed([item.value for item in node.elts if isinstance(item, ast.Constant)])


def _alternatives_of_or(node: ast.BoolOp) -> Fault | None:
    compares = [
        value for value in node.values if isinstance(value, ast.Compare) and isinstance(value.ops[0], ast.Eq | ast.Is)
    ]
    lefts = {ast.dump(compare.left) for compare in compares}
    rights = [compare.comparators[0] for compare in compares]
    if len(compares) != len(node.values) or len(lefts) != 1:
        return None
    constants = [right.value for right in rights if isinstance(right, ast.Constant)]
    return _opposed(constants) if len(constants) == len(rights) else None


def _opposed(values: list[Any]) -> Fault | None:
    """Answers of which one must be wrong: success and failure, yes and no, something and nothing."""
    kinds = {type(value) for value in values}
    numbers = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    mixed_status = any(200 <= n < 400 for n in numbers) and any(400 <= n < 600 for n in numbers)
    if (
        mixed_status
        or {True, False} <= {value for value in values if isinstance(value, bool)}
        or (None in values and len(kinds) > 1)
    ):
        return "RED411", f"is content with {' or '.join(repr(value) for value in values)}: one of these is wrong"
    return None
