"""What catches a test's failure before pytest sees it: handlers, decorators and context managers of its own."""

from __future__ import annotations

import ast

from prd2pr.core.testfacts_marks import own_nodes
from prd2pr.core.testfacts_model import FunctionNode, decorator_name, dotted
from prd2pr.core.testfacts_scope import TestScope

BROAD = frozenset({"Exception", "BaseException", "AssertionError"})


def caught(types: list[ast.expr]) -> set[str]:
    names = [item for node in types for item in (node.elts if isinstance(node, ast.Tuple) else [node])]
    return {dotted(name).rpartition(".")[2] for name in names}


def swallows(handler: ast.ExceptHandler) -> bool:
    types = caught([handler.type]) if handler.type is not None else {"BaseException"}
    return bool(types & BROAD) and not any(
        gives_up(statement) or _keeps(statement, handler) for statement in handler.body
    )


def gives_up(statement: ast.stmt) -> bool:
    """Ends in a failure after all: raises, asserts or calls `fail`."""
    for inner in ast.walk(statement):
        if isinstance(inner, ast.Assert) and isinstance(inner.test, ast.Constant) and inner.test.value:
            continue
        if isinstance(inner, ast.Raise | ast.Assert):
            return True
        if isinstance(inner, ast.Call) and dotted(inner.func).rpartition(".")[2] in {"fail", "exit"}:
            return True
    return False


def _keeps(statement: ast.stmt, handler: ast.ExceptHandler) -> bool:
    """Puts the exception where the test can look at it later."""
    uses = handler.name and handler.name in {x.id for x in ast.walk(statement) if isinstance(x, ast.Name)}
    stores = isinstance(statement, ast.Assign) or any(
        isinstance(inner, ast.Call)
        and dotted(inner.func).rpartition(".")[2] in {"append", "put", "add", "set_exception"}
        for inner in ast.walk(statement)
    )
    return bool(uses) and stores


def decorator_swallows(node: FunctionNode, scope: TestScope) -> bool:
    names = [decorator_name(item) for item in node.decorator_list]
    if any(_suppresses(item) for item in node.decorator_list):
        return True
    found = [scope.helpers.get(name) or scope.suite.classes.get(name) for name in names]
    inside = [x for each in found if each for x in ast.walk(each)]
    return any(
        swallows(x) if isinstance(x, ast.ExceptHandler) else isinstance(x, ast.With) and _suppressing(x) for x in inside
    )


def _suppressing(node: ast.With) -> bool:
    return any(_suppresses(item.context_expr) for item in node.items)


def _suppresses(node: ast.expr) -> bool:
    """`suppress(AssertionError)`, as a context or as a decorator."""
    called = dotted(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
    return called == "suppress" and isinstance(node, ast.Call) and bool(caught(node.args) & BROAD)


def leaves_at_the_end(node: ast.Try) -> bool:
    """`finally: return` drops whatever was raised."""
    final = [inner for statement in node.finalbody for inner in (statement, *own_nodes(statement))]
    return any(isinstance(inner, ast.Return) for inner in final)


def drops_exceptions(node: ast.stmt) -> bool:
    """`await gather(check(), return_exceptions=True)`, or a task, with nobody looking at what it returns."""
    value = node.value if isinstance(node, ast.Expr) else None
    if isinstance(value, ast.Call) and dotted(value.func).rpartition(".")[2] in {"create_task", "ensure_future"}:
        return True
    call = value.value if isinstance(value, ast.Await) else None
    return isinstance(call, ast.Call) and any(
        keyword.arg == "return_exceptions" and isinstance(keyword.value, ast.Constant) and bool(keyword.value.value)
        for keyword in call.keywords
    )


# --- context managers -------------------------------------------------------------------------------------------------


def manager_swallows(manager: ast.expr, name: ast.expr | None, body: list[ast.stmt], scope: TestScope) -> bool:
    called = dotted(manager.func if isinstance(manager, ast.Call) else manager)
    if called.rpartition(".")[2] == "suppress" and isinstance(manager, ast.Call):
        return bool(caught(manager.args) & BROAD)
    if called.rpartition(".")[2] in {"ExitStack", "AsyncExitStack"}:
        return _stack_swallows(dotted(name) if name is not None else "", body, scope)
    local = {x.name: x for x in ast.walk(scope.test.node) if isinstance(x, FunctionNode | ast.ClassDef)}
    target = local.get(called) or scope.helpers.get(called) or scope.suite.classes.get(called)
    if isinstance(target, ast.ClassDef):
        exits = [x for x in target.body if isinstance(x, FunctionNode) and x.name in {"__exit__", "__aexit__"}]
        return any(_always_says_yes(each) for each in exits)
    return target is not None and _generator_swallows(target)


def _generator_swallows(node: FunctionNode) -> bool:
    """A `contextmanager` that yields inside a `try` and drops what comes back."""
    tries = [x for x in ast.walk(node) if isinstance(x, ast.Try)]
    around = [x for x in tries if any(isinstance(inner, ast.Yield) for line in x.body for inner in ast.walk(line))]
    return any(leaves_at_the_end(x) or any(swallows(handler) for handler in x.handlers) for x in around)


def _always_says_yes(node: FunctionNode | ast.Lambda) -> bool:
    """Returns true without a question, so that no exception comes through."""
    if isinstance(node, ast.Lambda):
        return isinstance(node.body, ast.Constant) and bool(node.body.value)
    plain = [x.value for x in node.body if isinstance(x, ast.Return)]
    yes = any(isinstance(value, ast.Constant) and bool(value.value) for value in plain)
    return yes and not any(gives_up(statement) for statement in node.body)


def _stack_swallows(stack: str, body: list[ast.stmt], scope: TestScope) -> bool:
    calls = [x for statement in body for x in ast.walk(statement) if isinstance(x, ast.Call) and x.args]
    for call in calls:
        owner, _, verb = dotted(call.func).rpartition(".")
        if not stack or owner != stack:
            continue
        if verb in {"enter_context", "enter_async_context"} and manager_swallows(call.args[0], None, [], scope):
            return True
        pushed = scope.helpers.get(dotted(call.args[0])) or call.args[0]
        if verb == "push" and isinstance(pushed, FunctionNode | ast.Lambda) and _always_says_yes(pushed):
            return True
    return False
