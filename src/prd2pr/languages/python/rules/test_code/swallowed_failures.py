"""RED404 and RED406: code that catches a failure before pytest sees it, and handlers that accept any exception."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from prd2pr.domain.results.finding_kind import FindingKind, define_error
from prd2pr.languages.python.test_model.module import FunctionNode, get_decorator_name, get_dotted_name, walk_own_nodes
from prd2pr.languages.python.test_model.scope import TestScope

FINDINGS: tuple[FindingKind, ...] = (
    define_error(
        "RED404",
        "catches its own failure",
        "The assertion is inside a block that catches AssertionError and ignores it.",
        bad="def test_earn():\n    try:\n        assert earn(5) == 1\n    except AssertionError:\n        pass",
        good="def test_earn():\n    assert earn(5) == 1",
        remedy="let the assertion fail.",
    ),
    define_error(
        "RED406",
        "accepts any exception",
        "`pytest.raises(Exception)` also accepts a TypeError in an unfinished subject, not only the error that "
        "the story requires.",
        bad="def test_redeem():\n    with pytest.raises(Exception):\n        redeem(100, -1)",
        good="def test_redeem():\n    with pytest.raises(ValueError, match='negative'):\n        redeem(100, -1)",
        remedy="name the exception, or check its message with match=.",
    ),
)


BROAD_EXCEPTIONS = frozenset({"Exception", "BaseException", "AssertionError"})
_ANY_EXCEPTION = BROAD_EXCEPTIONS - {"AssertionError"}


def list_caught_names(types: list[ast.expr]) -> set[str]:
    names = [item for node in types for item in (node.elts if isinstance(node, ast.Tuple) else [node])]
    return {get_dotted_name(name).rpartition(".")[2] for name in names}


def is_swallowing_handler(handler: ast.ExceptHandler) -> bool:
    types = list_caught_names([handler.type]) if handler.type is not None else {"BaseException"}
    return bool(types & BROAD_EXCEPTIONS) and not any(
        can_fail_test(statement) or _stores_exception(statement, handler) for statement in handler.body
    )


def can_fail_test(statement: ast.stmt) -> bool:
    """Return whether the statement can fail the test by raising, asserting or calling `fail`."""
    for inner in ast.walk(statement):
        if isinstance(inner, ast.Assert) and isinstance(inner.test, ast.Constant) and inner.test.value:
            continue
        if isinstance(inner, ast.Raise | ast.Assert):
            return True
        if isinstance(inner, ast.Call) and get_dotted_name(inner.func).rpartition(".")[2] in {"fail", "exit"}:
            return True
    return False


def _stores_exception(statement: ast.stmt, handler: ast.ExceptHandler) -> bool:
    """Return whether the statement stores the exception, so that the test can check it later."""
    uses = handler.name and handler.name in {x.id for x in ast.walk(statement) if isinstance(x, ast.Name)}
    stores = isinstance(statement, ast.Assign) or any(
        isinstance(inner, ast.Call)
        and get_dotted_name(inner.func).rpartition(".")[2] in {"append", "put", "add", "set_exception"}
        for inner in ast.walk(statement)
    )
    return bool(uses) and stores


def has_swallowing_decorator(node: FunctionNode, scope: TestScope) -> bool:
    names = [get_decorator_name(item) for item in node.decorator_list]
    if any(_is_suppress_call(item) for item in node.decorator_list):
        return True
    found = [scope.helpers.get(name) or scope.suite.classes.get(name) for name in names]
    inside = [x for each in found if each for x in ast.walk(each)]
    return any(
        is_swallowing_handler(x)
        if isinstance(x, ast.ExceptHandler)
        else isinstance(x, ast.With) and _is_suppressing_block(x)
        for x in inside
    )


def _is_suppressing_block(node: ast.With) -> bool:
    return any(_is_suppress_call(item.context_expr) for item in node.items)


def _is_suppress_call(node: ast.expr) -> bool:
    """Return whether the node is `suppress(AssertionError)`, as a context manager or decorator."""
    called = get_dotted_name(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
    return called == "suppress" and isinstance(node, ast.Call) and bool(list_caught_names(node.args) & BROAD_EXCEPTIONS)


def returns_in_finally(node: ast.Try) -> bool:
    """Return whether a `finally` block returns, which discards the exception."""
    final = [inner for statement in node.finalbody for inner in (statement, *walk_own_nodes(statement))]
    return any(isinstance(inner, ast.Return) for inner in final)


def drops_exceptions(node: ast.stmt) -> bool:
    """Return whether the code ignores exceptions, as in a task that is never awaited.

    `await gather(check(), return_exceptions=True)` counts too.
    """
    value = node.value if isinstance(node, ast.Expr) else None
    if isinstance(value, ast.Call) and get_dotted_name(value.func).rpartition(".")[2] in {
        "create_task",
        "ensure_future",
    }:
        return True
    call = value.value if isinstance(value, ast.Await) else None
    return isinstance(call, ast.Call) and any(
        keyword.arg == "return_exceptions" and isinstance(keyword.value, ast.Constant) and bool(keyword.value.value)
        for keyword in call.keywords
    )


def is_swallowing_manager(manager: ast.expr, name: ast.expr | None, body: list[ast.stmt], scope: TestScope) -> bool:
    called = get_dotted_name(manager.func if isinstance(manager, ast.Call) else manager)
    if called.rpartition(".")[2] == "suppress" and isinstance(manager, ast.Call):
        return bool(list_caught_names(manager.args) & BROAD_EXCEPTIONS)
    if called.rpartition(".")[2] in {"ExitStack", "AsyncExitStack"}:
        return _has_swallowing_stack(get_dotted_name(name) if name is not None else "", body, scope)
    local = {x.name: x for x in ast.walk(scope.test.node) if isinstance(x, FunctionNode | ast.ClassDef)}
    target = local.get(called) or scope.helpers.get(called) or scope.suite.classes.get(called)
    if isinstance(target, ast.ClassDef):
        exits = [x for x in target.body if isinstance(x, FunctionNode) and x.name in {"__exit__", "__aexit__"}]
        return any(_always_returns_true(each) for each in exits)
    return target is not None and _is_swallowing_generator(target)


def _is_swallowing_generator(node: FunctionNode) -> bool:
    """Return whether the `contextmanager` function yields inside a `try` that swallows the exception."""
    tries = [x for x in ast.walk(node) if isinstance(x, ast.Try)]
    around = [x for x in tries if any(isinstance(inner, ast.Yield) for line in x.body for inner in ast.walk(line))]
    return any(returns_in_finally(x) or any(is_swallowing_handler(handler) for handler in x.handlers) for x in around)


def _always_returns_true(node: FunctionNode | ast.Lambda) -> bool:
    """Return whether the exit handler always returns true, so that every exception is suppressed."""
    if isinstance(node, ast.Lambda):
        return isinstance(node.body, ast.Constant) and bool(node.body.value)
    plain = [x.value for x in node.body if isinstance(x, ast.Return)]
    yes = any(isinstance(value, ast.Constant) and bool(value.value) for value in plain)
    return yes and not any(can_fail_test(statement) for statement in node.body)


def _has_swallowing_stack(stack: str, body: list[ast.stmt], scope: TestScope) -> bool:
    calls = [x for statement in body for x in ast.walk(statement) if isinstance(x, ast.Call) and x.args]
    for call in calls:
        owner, _, verb = get_dotted_name(call.func).rpartition(".")
        if not stack or owner != stack:
            continue
        if verb in {"enter_context", "enter_async_context"} and is_swallowing_manager(call.args[0], None, [], scope):
            return True
        pushed = scope.helpers.get(get_dotted_name(call.args[0])) or call.args[0]
        if verb == "push" and isinstance(pushed, FunctionNode | ast.Lambda) and _always_returns_true(pushed):
            return True
    return False


# --- RED406: a `try` that accepts any exception -----------------------------------------------------------------------


def accepts_any_exception(node: ast.Try, home: FunctionNode) -> bool:
    """Return whether the `try` requires an exception but accepts any, as in `except Exception: failed = True`."""
    handlers = [each for each in node.handlers if _is_broad_handler(each) and not any(map(can_fail_test, each.body))]
    if not handlers or any(isinstance(x, ast.Assert) for line in node.body for x in ast.walk(line)):
        return False
    return any(
        _sets_flag(each, node, home) or (_ignores_exception(each) and _requires_exception(each, node, home))
        for each in handlers
    )


def _is_broad_handler(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or bool(list_caught_names([handler.type]) & _ANY_EXCEPTION)


def _ignores_exception(handler: ast.ExceptHandler) -> bool:
    """Return whether the handler does not use the exception."""
    used = {x.id for line in handler.body for x in ast.walk(line) if isinstance(x, ast.Name)}
    return not handler.name or handler.name not in used


def _requires_exception(handler: ast.ExceptHandler, node: ast.Try, home: FunctionNode) -> bool:
    """Return whether the test fails if no exception is raised.

    It does with `else: pytest.fail()`, or with a failure after a handler that returns.
    """
    last = node.body[-1]
    if any(_always_fails(line) for line in (last, *node.orelse)):
        return True
    leaves = isinstance(handler.body[-1], ast.Return)
    return leaves and any(_always_fails(line) for line in _list_later_statements(node, home))


def _always_fails(line: ast.stmt) -> bool:
    """Return whether the statement fails unconditionally."""
    if isinstance(line, ast.Assert):
        return isinstance(line.test, ast.Constant) and not line.test.value
    call = line.value if isinstance(line, ast.Expr) else None
    failing = isinstance(call, ast.Call) and get_dotted_name(call.func) in {"pytest.fail", "self.fail", "fail"}
    return failing or (isinstance(line, ast.Raise) and "AssertionError" in ast.dump(line))


def _list_later_statements(node: ast.Try, home: FunctionNode) -> Iterator[ast.stmt]:
    yield from (line for line in home.body if line.lineno > (node.end_lineno or 0))


def _sets_flag(handler: ast.ExceptHandler, node: ast.Try, home: FunctionNode) -> bool:
    """Return whether the handler sets a flag that the test checks only for truth."""
    for line in handler.body:
        value = line.value if isinstance(line, ast.Assign) else None
        stores_exception = isinstance(value, ast.Name) and value.id == handler.name
        if not stores_exception and not (isinstance(value, ast.Constant) and value.value is True):
            continue
        names = {get_dotted_name(target) for target in line.targets} if isinstance(line, ast.Assign) else set()
        if any(_is_only_asserted(name, node, home) for name in names):
            return True
    return False


def _is_only_asserted(name: str, node: ast.Try, home: FunctionNode) -> bool:
    nodes = [x for line in _list_later_statements(node, home) for x in ast.walk(line)]
    uses = [x for x in nodes if isinstance(x, ast.Name) and x.id == name]
    checks = [use for x in nodes for use in _find_truth_checks(x) if get_dotted_name(use) == name]
    return bool(uses) and len(uses) == len(checks)


def _find_truth_checks(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the values that are checked only for truth.

    Examples are `assert ok`, `assert ok is True` and `assertIsNotNone(error)`.
    """
    if (
        isinstance(node, ast.Call)
        and node.args
        and get_dotted_name(node.func) in {"self.assertTrue", "self.assertIsNotNone"}
    ):
        yield node.args[0]
    if not isinstance(node, ast.Assert):
        return
    test = node.test
    if isinstance(test, ast.Name):
        yield test
    elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.comparators[0], ast.Constant):
        expected = test.comparators[0].value
        is_true = isinstance(test.ops[0], ast.Is | ast.Eq) and expected is True
        if is_true or (isinstance(test.ops[0], ast.IsNot | ast.NotEq) and expected in {None, False}):
            yield test.left
