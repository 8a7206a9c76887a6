"""RED406 by hand: a `try` that asks for an exception and is content with any."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from prd2pr.core.testfacts_model import FunctionNode, dotted
from prd2pr.core.testfacts_swallow import BROAD, caught, gives_up

_WIDE = BROAD - {"AssertionError"}


def is_content_with_any(node: ast.Try, home: FunctionNode) -> bool:
    """`except Exception: failed = True`, or a handler that lets the test end well where only an exception leads."""
    handlers = [each for each in node.handlers if _is_wide(each) and not any(map(gives_up, each.body))]
    if not handlers or any(isinstance(x, ast.Assert) for line in node.body for x in ast.walk(line)):
        return False
    return any(_flags(each, node, home) or (_is_idle(each) and _must_raise(each, node, home)) for each in handlers)


def _is_wide(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or bool(caught([handler.type]) & _WIDE)


def _is_idle(handler: ast.ExceptHandler) -> bool:
    """Looks at nothing that the exception tells."""
    used = {x.id for line in handler.body for x in ast.walk(line) if isinstance(x, ast.Name)}
    return not handler.name or handler.name not in used


def _must_raise(handler: ast.ExceptHandler, node: ast.Try, home: FunctionNode) -> bool:
    """Without an exception the test fails: `else: pytest.fail()`, or the like after a handler that returns."""
    last = node.body[-1]
    if any(_fails(line) for line in (last, *node.orelse)):
        return True
    leaves = isinstance(handler.body[-1], ast.Return)
    return leaves and any(_fails(line) for line in _after(node, home))


def _fails(line: ast.stmt) -> bool:
    """Fails outright, not on a condition."""
    if isinstance(line, ast.Assert):
        return isinstance(line.test, ast.Constant) and not line.test.value
    call = line.value if isinstance(line, ast.Expr) else None
    failing = isinstance(call, ast.Call) and dotted(call.func) in {"pytest.fail", "self.fail", "fail"}
    return failing or (isinstance(line, ast.Raise) and "AssertionError" in ast.dump(line))


def _after(node: ast.Try, home: FunctionNode) -> Iterator[ast.stmt]:
    yield from (line for line in home.body if line.lineno > (node.end_lineno or 0))


def _flags(handler: ast.ExceptHandler, node: ast.Try, home: FunctionNode) -> bool:
    """Sets a name that the test then asks for its truth, and for nothing else."""
    for line in handler.body:
        value = line.value if isinstance(line, ast.Assign) else None
        kept = isinstance(value, ast.Name) and value.id == handler.name
        if not kept and not (isinstance(value, ast.Constant) and value.value is True):
            continue
        names = {dotted(target) for target in line.targets} if isinstance(line, ast.Assign) else set()
        if any(_only_asked(name, node, home) for name in names):
            return True
    return False


def _only_asked(name: str, node: ast.Try, home: FunctionNode) -> bool:
    later = [x for line in _after(node, home) for x in ast.walk(line)]
    uses = [x for x in later if isinstance(x, ast.Name) and x.id == name]
    asking = [use for x in later for use in _truth_of(x) if dotted(use) == name]
    return bool(uses) and len(uses) == len(asking)


def _truth_of(node: ast.AST) -> Iterator[ast.expr]:
    """What an assertion asks for its bare truth: `assert ok`, `assert ok is True`, `assertIsNotNone(error)`."""
    if isinstance(node, ast.Call) and node.args and dotted(node.func) in {"self.assertTrue", "self.assertIsNotNone"}:
        yield node.args[0]
    if not isinstance(node, ast.Assert):
        return
    test = node.test
    if isinstance(test, ast.Name):
        yield test
    elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.comparators[0], ast.Constant):
        said = test.comparators[0].value
        yes = isinstance(test.ops[0], ast.Is | ast.Eq) and said is True
        if yes or (isinstance(test.ops[0], ast.IsNot | ast.NotEq) and said in {None, False}):
            yield test.left
