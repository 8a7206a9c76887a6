"""RED407 and RED411: assertions that accept wrong results through a wide tolerance, opposite values or a bare type."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import inf
from typing import Any

from prd2pr.domain.results.finding_kind import FindingKind, define_error
from prd2pr.languages.python.rules.test_code.nondeterminism import mentions_randomness
from prd2pr.languages.python.rules.test_code.tautologies import WIDE_SPAN, fold_constants
from prd2pr.languages.python.test_model.constants import UNKNOWN, evaluate_number
from prd2pr.languages.python.test_model.data_flow import Liveness
from prd2pr.languages.python.test_model.module import get_dotted_name, resolve_name, unparse_node
from prd2pr.languages.python.test_model.value_bounds import find_value_bounds

FINDINGS: tuple[FindingKind, ...] = (
    define_error(
        "RED407",
        "the tolerance is too wide",
        "If the tolerance is more than half of the expected value, wrong values pass.",
        bad="def test_redeem():\n    assert redeem(100, 10) == pytest.approx(90, abs=100)",
        good="def test_redeem():\n    assert redeem(100, 10) == pytest.approx(90, abs=0.01)",
        remedy="use the default tolerance, or one that separates right from wrong values.",
    ),
    define_error(
        "RED411",
        "accepts opposite results",
        "The assertion accepts both success and failure, both True and False, or both a value and None. One of "
        "them is wrong.",
        bad="def test_checkout():\n    assert checkout(Cart()).status in (200, 500)",
        good="def test_checkout():\n    assert checkout(Cart()).status == 400",
        remedy="assert the one result that the criterion requires.",
    ),
)


ExpressionFault = tuple[str, str]  # code, message
_PLAIN_TYPES = frozenset({"str", "bytes", "int", "float", "bool", "list", "dict", "tuple", "set", "object"})
ROUGH_DIVISOR = 100  # dividing by this much gives 0 or 1 for most numbers
_WIDE_SHARE = 0.5  # a tolerance above half of the value accepts wrong values


def describe_weak_assertion(node: ast.expr, live: Liveness) -> str:
    """Describe an assertion that holds for most wrong results. Return an empty string for any other."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.IsNot):
        right = node.comparators[0]
        if isinstance(right, ast.Constant) and right.value is None:
            return "that the result is not None"
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.NotEq):
        right = node.comparators[0]
        if isinstance(right, ast.Constant) and right.value is not None and right.value not in {"", 0, 1}:
            return "that the result is not one particular value"
    if isinstance(node, ast.Call) and get_dotted_name(node.func) == "isinstance" and len(node.args) == 2:
        kinds = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
        if all(get_dotted_name(kind) in _PLAIN_TYPES for kind in kinds):
            return "the type of the result"
    if (wide := _describe_wide_bounds(node)) and not mentions_randomness(live.scope):
        return f"that the result is between {wide}"
    names = {
        resolve_name(get_dotted_name(x.func), live.scope.imports) for x in ast.walk(node) if isinstance(x, ast.Call)
    }
    return "the parameters" if names & {"inspect.signature", "inspect.getfullargspec"} else ""


def _describe_wide_bounds(node: ast.expr) -> str:
    """Describe bounds that include nearly every plausible number, such as `0 <= fee(5) <= 10**6`."""
    bounds_found = list(find_value_bounds(node))
    if len(bounds_found) > 2 or len({ast.dump(value) for value, _ in bounds_found}) != 1:
        return ""
    bounds = bounds_found[0][1].intersect(bounds_found[-1][1])
    is_wide = bounds.kinds is None and bounds.low <= 1 and WIDE_SPAN - 1 <= bounds.high - bounds.low < inf
    return f"{bounds.low} and {bounds.high}" if is_wide else ""


# --- tolerances -------------------------------------------------------------------------------------------------------


def describe_wide_tolerance(node: ast.expr, live: Liveness) -> str:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call):
            name = resolve_name(get_dotted_name(inner.func), live.scope.imports).rpartition(".")[2]
            if name in {"approx", "isclose", "allclose"}:
                return _describe_wide_call(inner, name, live)
    return _describe_wide_distance(node, live) or _describe_wide_rounding(node)


def _describe_wide_rounding(node: ast.expr) -> str:
    """Describe the tolerance of `round(total, -3) == 0` and `total // 1000 == 0`."""
    if not (isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq)):
        return ""
    if isinstance(node.left, ast.BinOp) and isinstance(node.left.op, ast.FloorDiv):
        width, times = evaluate_number(node.left.right), evaluate_number(node.comparators[0])
        other = node.comparators[0]
        if (
            isinstance(other, ast.BinOp)
            and isinstance(other.op, ast.FloorDiv)
            and evaluate_number(other.right) == width
        ):
            whole = evaluate_number(other.left)
            times = whole // width if UNKNOWN not in (whole, width) and width else UNKNOWN
        rough = UNKNOWN not in (width, times) and width >= ROUGH_DIVISOR and 0 <= times <= 1
        return f"{width}" if rough else ""
    if not isinstance(node.left, ast.Call):
        return ""
    call, expected = node.left, evaluate_number(node.comparators[0])
    if get_dotted_name(call.func) != "round" or len(call.args) != 2 or expected is UNKNOWN:
        return ""
    digits = evaluate_number(call.args[1])
    rough = isinstance(digits, int) and digits < 0 and 10**-digits > abs(expected)
    return f"± {10**-digits // 2}" if rough else ""


def _describe_wide_call(call: ast.Call, name: str, live: Liveness) -> str:
    expected = fold_constants(call.args[0 if name == "approx" else -1], live) if call.args else UNKNOWN
    tolerances = {name: _get_known_number(value, live) for name, value in _list_tolerances(call, name, live)}
    infinite = any("inf" in unparse_node(keyword.value) for keyword in call.keywords)
    relative = next((tolerances[key] for key in ("rel", "rel_tol", "rtol") if key in tolerances), 0)
    absolute = next((tolerances[key] for key in ("abs", "abs_tol", "atol") if key in tolerances), 0)
    if infinite:
        return "infinity"
    if isinstance(relative, int | float) and relative >= _WIDE_SHARE:
        return f"{relative:.0%}"
    return f"± {absolute}" if _exceeds_expected(absolute, expected) else ""


def _list_tolerances(call: ast.Call, name: str, live: Liveness) -> Iterator[tuple[str, ast.expr]]:
    """Yield tolerances by name, such as `rel` for `approx(273, 0.9)` and for `approx(273, **{"rel": 0.9})`."""
    places = {"approx": ("", "rel", "abs"), "allclose": ("", "", "rtol", "atol")}.get(name, ())
    yield from ((place, value) for place, value in zip(places, call.args, strict=False) if place)
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield keyword.arg, keyword.value
        elif isinstance(spread := live.module_constants.get(get_dotted_name(keyword.value), keyword.value), ast.Dict):
            pairs = zip(spread.keys, spread.values, strict=True)
            yield from ((str(key.value), value) for key, value in pairs if isinstance(key, ast.Constant))


def _get_known_number(node: ast.expr, live: Liveness) -> Any:
    """Return the number in a literal or module constant."""
    value = fold_constants(node, live)
    constant = live.module_constants.get(get_dotted_name(node)) if value is UNKNOWN else None
    return value if constant is None else evaluate_number(constant)


def _exceeds_expected(tolerance: Any, expected: Any) -> bool:
    if not isinstance(tolerance, int | float) or isinstance(tolerance, bool):
        return False
    if isinstance(expected, int | float) and expected != 0:
        return tolerance > abs(expected) * _WIDE_SHARE
    return tolerance >= 1000


def _describe_wide_distance(node: ast.expr, live: Liveness) -> str:
    """Describe the tolerance of `abs(total - 90) < 1000` and `abs(total - 90) / 90 < 1`."""
    if not (isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Lt | ast.LtE)):
        return ""
    limit = _get_known_number(node.comparators[0], live)
    share = isinstance(node.left, ast.BinOp) and isinstance(node.left.op, ast.Div)
    call = node.left.left if isinstance(node.left, ast.BinOp) and share else node.left
    if not isinstance(call, ast.Call):
        return ""
    if get_dotted_name(call.func) != "abs" or not call.args or not isinstance(call.args[0], ast.BinOp):
        return ""
    if not isinstance(call.args[0].op, ast.Sub):
        return ""
    sides = [fold_constants(side, live) for side in (call.args[0].left, call.args[0].right)]
    expected = next((side for side in sides if side is not UNKNOWN), UNKNOWN)
    if share:
        return f"{limit:.0%}" if isinstance(limit, int | float) and limit >= _WIDE_SHARE else ""
    return f"± {limit}" if expected is not UNKNOWN and _exceeds_expected(limit, expected) else ""


# --- alternatives -----------------------------------------------------------------------------------------------------


def find_opposite_options(node: ast.expr) -> ExpressionFault | None:
    if not isinstance(node, ast.Tuple | ast.List | ast.Set) or len(node.elts) < 2:
        return None
    if not all(isinstance(item, ast.Constant) for item in node.elts):
        return None
    return _find_opposites([item.value for item in node.elts if isinstance(item, ast.Constant)])


def find_opposite_alternatives(node: ast.BoolOp) -> ExpressionFault | None:
    compares = [
        value for value in node.values if isinstance(value, ast.Compare) and isinstance(value.ops[0], ast.Eq | ast.Is)
    ]
    lefts = {ast.dump(compare.left) for compare in compares}
    rights = [compare.comparators[0] for compare in compares]
    if len(compares) != len(node.values) or len(lefts) != 1:
        return None
    constants = [right.value for right in rights if isinstance(right, ast.Constant)]
    return _find_opposites(constants) if len(constants) == len(rights) else None


def _find_opposites(values: list[Any]) -> ExpressionFault | None:
    """Report values that exclude each other, such as success and failure, True and False, or a value and None."""
    kinds = {type(value) for value in values}
    numbers = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    mixed_status = any(200 <= n < 400 for n in numbers) and any(400 <= n < 600 for n in numbers)
    if (
        mixed_status
        or {True, False} <= {value for value in values if isinstance(value, bool)}
        or (None in values and len(kinds) > 1)
    ):
        return "RED411", f"accepts {' or '.join(repr(value) for value in values)}: one of these is wrong"
    return None
