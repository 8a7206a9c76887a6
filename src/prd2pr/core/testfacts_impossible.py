"""RED310 of a single value: it cannot be what the test asks it to be."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from prd2pr.core.evidence import Fact
from prd2pr.core.testfacts_bounds import Bounds, asked_of_values
from prd2pr.core.testfacts_live import Liveness, bindings, liveness
from prd2pr.core.testfacts_model import dotted, judged_tests
from prd2pr.core.testfacts_scope import TestScope, scopes
from prd2pr.core.testfacts_suite import Suite
from prd2pr.core.testfacts_unroll import UNKNOWN

_UNITTEST: dict[str, type[ast.cmpop]] = {
    "self.assertEqual": ast.Eq,
    "self.assertLess": ast.Lt,
    "self.assertLessEqual": ast.LtE,
    "self.assertGreater": ast.Gt,
    "self.assertGreaterEqual": ast.GtE,
}


def impossible_facts(suite: Suite) -> Iterator[Fact]:
    for scope in scopes(suite, judged_tests(suite.module, suite.context)):
        live = liveness(scope)
        for line, asked in _impossible(scope, live):
            why = f"`{asked}` can never be"
            yield Fact(code="RED310", path=suite.module.path, line=line, test=scope.test.id, message=why)


def _impossible(scope: TestScope, live: Liveness) -> Iterator[tuple[int, str]]:
    told = [x.test for x in ast.walk(scope.test.node) if isinstance(x, ast.Assert)]
    alone = [test for test in told if _holds_nothing(test) or _is_never(test)]
    alone += list(_helpers_that_never_hold(scope))
    yield from ((test.lineno, ast.unparse(test)) for test in alone)
    if not alone:
        yield from _together(scope, live)
        yield from _denied(scope, live)


def _holds_nothing(test: ast.expr) -> bool:
    """Within one assertion even a call is taken for one value, unless it is asked to equal two: `hit("page") == 1`."""
    found: dict[str, Bounds] = {}
    for value, bounds in asked_of_values(test):
        if not bounds.is_point:
            key = ast.dump(value)
            found[key] = found.get(key, Bounds()).and_also(bounds)
    return any(bounds.hold_nothing for bounds in found.values())


def _is_never(test: ast.expr) -> bool:
    """`x in ()`, `x < float("-inf")`, `211 == x == 212`, `isinstance(x, type("T", (), {}))`"""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(_is_never(part) for part in test.values)
    if isinstance(test, ast.Call) and dotted(test.func) == "isinstance" and len(test.args) == 2:
        return isinstance(test.args[1], ast.Call) and dotted(test.args[1].func) == "type" and len(test.args[1].args) > 1
    if not isinstance(test, ast.Compare):
        return False
    sides = [test.left, *test.comparators]
    if all(isinstance(op, ast.Eq) for op in test.ops):
        return len({repr(value) for side in sides if (value := _written(side)) is not UNKNOWN}) > 1
    pairs = zip(sides, test.ops, sides[1:], strict=False)
    return any(
        (isinstance(op, ast.In) and _written(right) in ([], (), "", {}))
        or (isinstance(op, ast.Lt) and (_is_infinite(right, "-") or _is_infinite(left, "")))
        or (isinstance(op, ast.Gt) and (_is_infinite(right, "") or _is_infinite(left, "-")))
        for left, op, right in pairs
    )


def _written(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return UNKNOWN


def _is_infinite(node: ast.expr, sign: str) -> bool:
    text = ast.unparse(node).replace('"', "'").replace(" ", "")
    return text in {f"float('{sign}inf')", f"{sign}math.inf", f"{sign}inf", f"{sign}float('inf')"}


def _helpers_that_never_hold(scope: TestScope) -> Iterator[ast.expr]:
    """Of a helper that asserts in any case: what it asks of its parameter cannot be."""
    for helper in scope.reach:
        if helper is scope.test.node or helper not in scope.helpers.values():
            continue
        bound = {name: value for node in helper.body for name, value in bindings(node)}
        for statement in helper.body:
            test = statement.test if isinstance(statement, ast.Assert) else None
            meant = bound.get(test.id, test) if isinstance(test, ast.Name) else test
            if meant is not None and (_holds_nothing(meant) or _is_never(meant)):
                yield meant


_PLAIN_CALLS = frozenset({"sorted", "len", "set", "list", "sum", "max", "min", "str", "isinstance"})
_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.In: ast.NotIn, ast.Is: ast.IsNot, ast.Lt: ast.GtE, ast.Gt: ast.LtE,
}  # fmt: skip


def _denied(scope: TestScope, live: Liveness) -> Iterator[tuple[int, str]]:
    """Of one value, both that it is nothing and that it is something; or one thing and its very opposite."""
    nothing: dict[str, str] = {}  # name -> what was said of it
    something: dict[str, str] = {}
    said: set[tuple[str, type[ast.cmpop], str]] = set()
    for statement in scope.test.node.body:
        test = _asserted(statement)
        if test is None or _calls_others(test):  # whatever was done may have changed the value
            nothing, something, said = {}, {}, set()
            continue
        names = {x.id for x in ast.walk(test) if isinstance(x, ast.Name)}
        for name in sorted(names & set(live.bound_once)):
            if _says_nothing_is(test, name):
                nothing.setdefault(name, ast.unparse(test))
            elif _says_something_is(test, name, none="None" in nothing.get(name, "")):
                something.setdefault(name, ast.unparse(test))
            if name in nothing and name in something:
                yield statement.lineno, f"{nothing[name]}` and `{something[name]}"
                return
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            left, op, right = ast.dump(test.left), type(test.ops[0]), ast.dump(test.comparators[0])
            said.add((left, op, right))
            if any((left, one, right) in said and (left, other, right) in said for one, other in _OPPOSITE.items()):
                yield statement.lineno, f"{ast.unparse(test)}, as asked here and above,"
                return


def _calls_others(test: ast.expr) -> bool:
    calls = [x for x in ast.walk(test) if isinstance(x, ast.Call)]
    return any(dotted(call.func) not in _PLAIN_CALLS for call in calls)


def _says_nothing_is(test: ast.expr, name: str) -> bool:
    """`not x`, `x is None`, `x == []`"""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return dotted(test.operand) == name
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or dotted(test.left) != name:
        return False
    value = _written(test.comparators[0])
    return isinstance(test.ops[0], ast.Eq | ast.Is) and (value is None or value in ([], (), "", {}))


def _says_something_is(test: ast.expr, name: str, *, none: bool) -> bool:
    """`len(x) == 2`, `x == [1]`, `x[0] == 1`; of what was said to be None, also `x + 1 == 2` and `x.name == "a"`."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return dotted(test) == name and isinstance(test, ast.Name)
    left, value = test.left, _written(test.comparators[0])
    if dotted(left) == name:
        return value is not UNKNOWN and bool(value)
    if isinstance(left, ast.Call) and dotted(left.func) == "len" and [dotted(each) for each in left.args] == [name]:
        return isinstance(value, int) and value > 0
    inner = left.value if isinstance(left, ast.Subscript | ast.Attribute) else None
    if isinstance(left, ast.Subscript):
        return inner is not None and dotted(inner) == name
    summed = isinstance(left, ast.BinOp) and name in {dotted(left.left), dotted(left.right)}
    return none and (summed or (inner is not None and dotted(inner) == name))


def _together(scope: TestScope, live: Liveness) -> Iterator[tuple[int, str]]:
    """About a name that the test binds once, in assertions that are made in any case."""
    found: dict[str, Bounds] = {}
    for statement in scope.test.node.body:
        for value, bounds in asked_of_values(test) if (test := _asserted(statement)) is not None else ():
            name = value.id if isinstance(value, ast.Name) else ""
            before = found.get(name, Bounds())
            if name not in live.bound_once or (bounds.is_point and before.is_point):  # two answers: the oracle's rule
                continue
            found[name] = before.and_also(bounds)
            if found[name].hold_nothing:
                yield statement.lineno, f"{ast.unparse(value)}, as asked here and above,"
                return


def _asserted(statement: ast.stmt) -> ast.expr | None:
    if isinstance(statement, ast.Assert):
        return statement.test
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or len(call.args) < 2:
        return None
    name = dotted(call.func)
    if name == "self.assertIsInstance":
        return ast.copy_location(ast.Call(ast.Name("isinstance", ast.Load()), call.args[:2], []), call)
    if name not in _UNITTEST:
        return None
    return ast.copy_location(ast.Compare(call.args[0], [_UNITTEST[name]()], [call.args[1]]), call)
