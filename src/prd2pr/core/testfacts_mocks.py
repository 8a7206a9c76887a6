"""RED405: the test replaces the very thing that it is about."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from prd2pr.core.evidence import Fact
from prd2pr.core.sourcefacts_subject import constant_text
from prd2pr.core.testfacts_live import bindings
from prd2pr.core.testfacts_model import (
    DeclaredTest,
    FunctionNode,
    dotted,
    is_fixture,
    judged_tests,
)
from prd2pr.core.testfacts_scope import TestScope, scopes
from prd2pr.core.testfacts_suite import Suite

_BUILTIN_CALLS = frozenset(
    {"len", "str", "int", "float", "list", "dict", "set", "tuple", "sorted", "sum", "approx", "isinstance"}
)


@dataclass(frozen=True)
class Replacement:
    name: str  # the last part: what is called
    owner: str
    line: int


def mock_facts(suite: Suite) -> Iterator[Fact]:
    module = suite.module
    for scope in scopes(suite, judged_tests(module, suite.context)):
        nodes: list[ast.AST] = [*scope.reach, *(item for owner in scope.test.owners for item in owner.decorator_list)]
        replaced = {each.name: each for node in nodes for each in _replacements(node, scope)}
        replaced |= {each.name: each for each in _overridden(scope)}
        replaced = {name: each for name, each in replaced.items() if not _is_anothers(each, scope)}
        asserted = _asserted_calls(scope) or _called_on_subject(scope)
        tested = asserted if asserted <= set(replaced) else _called_for_effect(scope, replaced)
        if replaced and tested:
            each = replaced[min(tested)]
            why = f"`{each.name}` is replaced, so `{scope.test.name}` tests the stand-in"
            yield Fact(code="RED405", path=module.path, line=each.line, test=scope.test.id, message=why)
    yield from _wholesale(suite)


def _replacements(node: ast.AST, scope: TestScope) -> Iterator[Replacement]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call):
            yield from _by_call(inner, scope)
        elif isinstance(inner, ast.Assign):
            for target in inner.targets:
                if isinstance(target, ast.Attribute) and _is_replaced(target.value, inner.value, scope):
                    yield Replacement(target.attr, dotted(target.value), inner.lineno)
                elif isinstance(target, ast.Subscript):
                    yield from _by_key(target.value, target.slice, inner.lineno, scope)


def _is_replaced(owner: ast.expr, value: ast.expr, scope: TestScope) -> bool:
    """`Loan.due = …`, and of an object of the subject only a function: other attributes are its state."""
    if scope.is_subject(dotted(owner)):
        return True
    if isinstance(owner, ast.Call) and dotted(owner.func) == "type" and len(owner.args) == 1:
        return _belongs(owner.args[0], scope)
    helper = isinstance(value, ast.Lambda) or dotted(value) in scope.helpers
    return helper and _belongs(owner, scope)


def _overridden(scope: TestScope) -> Iterator[Replacement]:
    """Methods that a class of the tests puts in place of the subject's, without asking it: `class Fake(Loan)`."""
    for node in scope.used_classes:
        if not any(scope.is_subject(dotted(base)) for base in node.bases):
            continue
        for item in node.body:
            if isinstance(item, FunctionNode) and not _asks_its_parent(item):
                yield Replacement(item.name, node.name, item.lineno)


def _asks_its_parent(function: FunctionNode) -> bool:
    return any(isinstance(x, ast.Name) and x.id in {"self", "super"} for x in ast.walk(function))


def _is_anothers(each: Replacement, scope: TestScope) -> bool:
    """`wire.post` is replaced, and the test calls `post` of a `Client` that it made: the same word, another thing."""
    built = {name: value for inner in ast.walk(scope.test.node) for name, value in bindings(inner)}
    owners = set()
    for call in (x for x in ast.walk(scope.test.node) if isinstance(x, ast.Call)):
        if isinstance(call.func, ast.Attribute) and call.func.attr == each.name:
            value = built.get(dotted(call.func.value), call.func.value)
            owners.add(dotted(value.func).rpartition(".")[2] if isinstance(value, ast.Call) else "")
    replaced = {each.owner.rpartition(".")[2], _built_as(each.owner, built)}
    return bool(owners) and "" not in owners and not owners & replaced


def _built_as(name: str, built: Mapping[str, ast.expr]) -> str:
    value = built.get(name)
    return dotted(value.func).rpartition(".")[2] if isinstance(value, ast.Call) else ""


def _called_for_effect(scope: TestScope, replaced: Mapping[str, Replacement]) -> set[str]:
    """What the test itself calls as a statement, where the very thing is replaced: it means it to be done."""
    built = {name: value for inner in ast.walk(scope.test.node) for name, value in bindings(inner)}
    calls = [x.value for x in scope.test.node.body if isinstance(x, ast.Expr) and isinstance(x.value, ast.Call)]
    found = set()
    for function in (call.func for call in calls):
        if isinstance(function, ast.Attribute) and function.attr in replaced:
            value = built.get(dotted(function.value))
            made = dotted(value.func) if isinstance(value, ast.Call) else dotted(function.value)
            owner = replaced[function.attr].owner
            if owner and made.rpartition(".")[2] == owner.rpartition(".")[2]:
                found.add(function.attr)
    return found


def _called_on_subject(scope: TestScope) -> set[str]:
    """Where an assertion reads state and calls nothing: what the test has called before it."""
    calls = [x for x in ast.walk(scope.test.node) if isinstance(x, ast.Call) and isinstance(x.func, ast.Attribute)]
    named = {x.func.attr for x in calls if isinstance(x.func, ast.Attribute) and _belongs(x.func.value, scope)}
    return {name for name in named if not name[0].isupper()}


def _by_call(call: ast.Call, scope: TestScope) -> Iterator[Replacement]:
    verb = dotted(call.func).rpartition(".")[2]
    if verb == "setitem" and len(call.args) > 1:
        yield from _by_key(call.args[0], call.args[1], call.lineno, scope)
    if verb == "update" and isinstance(call.func, ast.Attribute) and (owner := _namespace(call.func.value)):
        given = [each.arg for each in call.keywords if each.arg] if scope.is_subject(owner) else []
        yield from (Replacement(name, owner, call.lineno) for name in given)
    if verb not in {"patch", "setattr", "delattr", "object", "multiple"} or not call.args:
        return
    first = call.args[0]
    if verb == "multiple":
        named = constant_text(first) or dotted(first)
        if scope.suite.is_subject_module(named) or scope.is_subject(named):
            yield from (Replacement(each.arg, named, call.lineno) for each in call.keywords if each.arg)
        return
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        owner, _, name = first.value.rpartition(".")
        if scope.suite.is_subject_module(first.value):
            yield Replacement(name, owner, call.lineno)
    elif len(call.args) > 1 and (name := constant_text(call.args[1])) and _belongs(first, scope):
        yield Replacement(name, dotted(first), call.lineno)


def _namespace(node: ast.expr) -> str:
    """What `vars(shop)` and `shop.__dict__` are the names of."""
    if isinstance(node, ast.Call) and dotted(node.func) == "vars" and node.args:
        return dotted(node.args[0])
    return dotted(node).removesuffix(".__dict__") if dotted(node).endswith(".__dict__") else ""


def _by_key(names: ast.expr, key: ast.expr, line: int, scope: TestScope) -> Iterator[Replacement]:
    """`vars(shop)["add"] = …`, `shop.__dict__["add"] = …`, or the test module's own `globals()["add"]`."""
    if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
        return
    called = dotted(names.func) if isinstance(names, ast.Call) else ""
    owner = dotted(names).removesuffix(".__dict__") if dotted(names).endswith(".__dict__") else ""
    if called == "vars" and isinstance(names, ast.Call) and names.args:
        owner = dotted(names.args[0])
    if (owner and scope.is_subject(owner)) or (called == "globals" and scope.is_subject(key.value)):
        yield Replacement(key.value, owner or "globals()", line)


def _belongs(node: ast.expr, scope: TestScope) -> bool:
    """A module or class of the subject, or a local that was built from one."""
    if scope.is_subject(dotted(node)):
        return True
    built = {name: value for inner in ast.walk(scope.test.node) for name, value in bindings(inner)}
    value = built.get(dotted(node))
    return isinstance(value, ast.Call) and scope.is_subject(dotted(value.func))


def _asserted_calls(scope: TestScope) -> set[str]:
    """Names of what is called to get the asserted values; classes and built-ins are no more than packaging."""
    bound = {name: value for inner in ast.walk(scope.test.node) for name, value in bindings(inner)}
    calls: set[str] = set()
    for statement in (x for x in ast.walk(scope.test.node) if isinstance(x, ast.Assert | ast.Expr)):
        if isinstance(statement, ast.Expr) and not dotted(getattr(statement.value, "func", statement)).startswith(
            "self.assert"
        ):
            continue
        nodes = [statement, *(bound[x.id] for x in ast.walk(statement) if isinstance(x, ast.Name) and x.id in bound)]
        for call in (x for node in nodes for x in ast.walk(node) if isinstance(x, ast.Call)):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else dotted(call.func)
            calls.add(name)
    plain = {name for name in calls if name and not name[0].isupper() and not name.startswith("assert")}
    return plain - _BUILTIN_CALLS


def _wholesale(suite: Suite) -> Iterator[Fact]:
    """Replaced for every test: at import, in an autouse fixture, or by a stand-in in `sys.modules`."""
    module, probe = suite.module, _probe(suite)
    if probe is None:
        return
    for node in module.tree.body:
        if isinstance(node, FunctionNode) and not (is_fixture(node) and "autouse" in ast.dump(node)):
            continue
        if isinstance(node, ast.ClassDef):
            continue
        planned = {name.rpartition(".")[2] for name in suite.context.planned or ()}
        for each in _replacements(node, probe):
            if each.name in planned or not isinstance(node, FunctionNode):
                why = f"replaces `{each.owner}.{each.name}` for every test"
                yield Fact(code="RED405", path=module.path, line=each.line, message=why)
    for place in ast.walk(module.tree):
        if _replaces_module(place, probe):
            why = "puts a stand-in for the project's module into `sys.modules`"
            yield Fact(code="RED405", path=module.path, line=getattr(place, "lineno", 0), message=why)


def _probe(suite: Suite) -> TestScope | None:
    """A scope for the module as a whole; a conftest has no test of its own to borrow it from."""
    module = suite.module
    functions = [node for node in ast.walk(module.tree) if isinstance(node, FunctionNode)]
    if module.tests:
        return TestScope(suite, module.tests[0])
    empty = ast.parse("def nothing(): pass").body[0]
    node = functions[0] if functions else empty
    if not isinstance(node, FunctionNode):
        return None
    return TestScope(suite, DeclaredTest(f"{module.path}::{node.name}", node))


def _replaces_module(node: ast.AST, scope: TestScope) -> bool:
    keys: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        keys = [x.slice for x in node.targets if isinstance(x, ast.Subscript) and dotted(x.value) == "sys.modules"]
    elif isinstance(node, ast.Call) and dotted(node.func).endswith((".setitem", ".dict")) and node.args:
        keys = list(node.args[1:]) if dotted(node.args[0]) == "sys.modules" else []
    texts = [x.value for key in keys for x in ast.walk(key) if isinstance(x, ast.Constant) and isinstance(x.value, str)]
    return any(text.partition(".")[0] in scope.suite.subject_tops for text in texts)
