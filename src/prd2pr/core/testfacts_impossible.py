"""RED310 of a single value: it cannot be what the test asks it to be."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from prd2pr.core.evidence import Fact
from prd2pr.core.testfacts_bounds import Bounds, asked_of_values
from prd2pr.core.testfacts_live import Liveness, liveness
from prd2pr.core.testfacts_model import dotted, judged_tests
from prd2pr.core.testfacts_scope import TestScope, scopes
from prd2pr.core.testfacts_suite import Suite

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
    alone = [test for test in told if _holds_nothing(test)]
    yield from ((test.lineno, ast.unparse(test)) for test in alone)
    if not alone:
        yield from _together(scope, live)


def _holds_nothing(test: ast.expr) -> bool:
    """Within one assertion even a call is taken for one value, unless it is asked to equal two: `hit("page") == 1`."""
    found: dict[str, Bounds] = {}
    for value, bounds in asked_of_values(test):
        if not bounds.is_point:
            key = ast.dump(value)
            found[key] = found.get(key, Bounds()).and_also(bounds)
    return any(bounds.hold_nothing for bounds in found.values())


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
