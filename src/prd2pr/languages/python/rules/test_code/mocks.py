"""RED405: tests that replace the subject itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from prd2pr.domain.evidence import Fact
from prd2pr.domain.results.finding_kind import FindingKind, define_error
from prd2pr.languages.python.test_model.constants import get_constant_text
from prd2pr.languages.python.test_model.data_flow import find_bindings
from prd2pr.languages.python.test_model.module import (
    DeclaredTest,
    FunctionNode,
    get_dotted_name,
    is_fixture,
    list_judged_tests,
)
from prd2pr.languages.python.test_model.scope import TestScope, list_scopes
from prd2pr.languages.python.test_model.suite import Suite

FINDINGS: tuple[FindingKind, ...] = (
    define_error(
        "RED405",
        "the subject is mocked",
        "The test replaces the function that it should test, and then tests the replacement. Collaborators may be "
        "replaced.",
        bad="def test_earn(monkeypatch):\n"
        "    monkeypatch.setattr(shop, 'earn', lambda amount: 1)\n"
        "    assert shop.earn(5) == 1",
        good="def test_earn(monkeypatch):\n"
        "    monkeypatch.setattr(shop, 'today', lambda: '2024-02-29')   # a collaborator\n"
        "    assert shop.earn(5) == 1",
        remedy="call the real subject; replace only its dependencies.",
    ),
)


_BUILTIN_CALLS = frozenset(
    {"len", "str", "int", "float", "list", "dict", "set", "tuple", "sorted", "sum", "approx", "isinstance"}
)


@dataclass(frozen=True)
class Replacement:
    name: str  # without its owner
    owner: str
    line: int


def check_mocks(suite: Suite) -> Iterator[Fact]:
    module = suite.module
    for scope in list_scopes(suite, list_judged_tests(module, suite.context)):
        nodes: list[ast.AST] = [
            *scope.reachable_functions,
            *(item for owner in scope.test.owners for item in owner.decorator_list),
        ]
        replaced = {each.name: each for node in nodes for each in _find_replacements(node, scope)}
        replaced |= {each.name: each for each in _find_overrides(scope)}
        replaced = {name: each for name, each in replaced.items() if not _belongs_to_other_owner(each, scope)}
        asserted = _find_asserted_calls(scope) or _find_subject_calls(scope)
        tested = asserted if asserted <= set(replaced) else _find_statement_calls(scope, replaced)
        if replaced and tested:
            each = replaced[min(tested)]
            message = f"`{each.name}` is mocked, so `{scope.test.name}` tests the mock"
            yield Fact(code="RED405", path=module.path, line=each.line, test=scope.test.id, message=message)
    yield from _check_module_wide_mocks(suite)


def _find_replacements(node: ast.AST, scope: TestScope) -> Iterator[Replacement]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call):
            yield from _find_call_replacements(inner, scope)
        elif isinstance(inner, ast.Assign):
            for target in inner.targets:
                if isinstance(target, ast.Attribute) and _replaces_subject(target.value, inner.value, scope):
                    yield Replacement(target.attr, get_dotted_name(target.value), inner.lineno)
                elif isinstance(target, ast.Subscript):
                    yield from _find_key_replacements(target.value, target.slice, inner.lineno, scope)


def _replaces_subject(owner: ast.expr, value: ast.expr, scope: TestScope) -> bool:
    """Return whether an assignment such as `Loan.due = …` replaces part of the subject.

    On an instance, only a function counts, because other attributes are its state.
    """
    if scope.is_subject(get_dotted_name(owner)):
        return True
    if isinstance(owner, ast.Call) and get_dotted_name(owner.func) == "type" and len(owner.args) == 1:
        return _belongs_to_subject(owner.args[0], scope)
    helper = isinstance(value, ast.Lambda) or get_dotted_name(value) in scope.helpers
    return helper and _belongs_to_subject(owner, scope)


def _find_overrides(scope: TestScope) -> Iterator[Replacement]:
    """Yield the methods that a test class such as `class Fake(Loan)` overrides without using the parent's."""
    for node in scope.used_classes:
        if not any(scope.is_subject(get_dotted_name(base)) for base in node.bases):
            continue
        for item in node.body:
            if isinstance(item, FunctionNode) and not _uses_parent(item):
                yield Replacement(item.name, node.name, item.lineno)


def _uses_parent(function: FunctionNode) -> bool:
    return any(isinstance(x, ast.Name) and x.id in {"self", "super"} for x in ast.walk(function))


def _belongs_to_other_owner(each: Replacement, scope: TestScope) -> bool:
    """Return whether the test calls the name only on other objects than the one where it is replaced.

    For example, `wire.post` is replaced and `Client().post` is called.
    """
    built = {name: value for inner in ast.walk(scope.test.node) for name, value in find_bindings(inner)}
    owners = set()
    for call in (x for x in ast.walk(scope.test.node) if isinstance(x, ast.Call)):
        if isinstance(call.func, ast.Attribute) and call.func.attr == each.name:
            value = built.get(get_dotted_name(call.func.value), call.func.value)
            owners.add(get_dotted_name(value.func).rpartition(".")[2] if isinstance(value, ast.Call) else "")
    replaced = {each.owner.rpartition(".")[2], _get_built_type(each.owner, built)}
    return bool(owners) and "" not in owners and not owners & replaced


def _get_built_type(name: str, built: Mapping[str, ast.expr]) -> str:
    value = built.get(name)
    return get_dotted_name(value.func).rpartition(".")[2] if isinstance(value, ast.Call) else ""


def _find_statement_calls(scope: TestScope, replaced: Mapping[str, Replacement]) -> set[str]:
    """Return the replaced names that the test calls as a statement, that is, for their effect."""
    built = {name: value for inner in ast.walk(scope.test.node) for name, value in find_bindings(inner)}
    calls = [x.value for x in scope.test.node.body if isinstance(x, ast.Expr) and isinstance(x.value, ast.Call)]
    found = set()
    for function in (call.func for call in calls):
        if isinstance(function, ast.Attribute) and function.attr in replaced:
            value = built.get(get_dotted_name(function.value))
            made = get_dotted_name(value.func) if isinstance(value, ast.Call) else get_dotted_name(function.value)
            owner = replaced[function.attr].owner
            if owner and made.rpartition(".")[2] == owner.rpartition(".")[2]:
                found.add(function.attr)
    return found


def _find_subject_calls(scope: TestScope) -> set[str]:
    """Return the methods that the test calls on the subject. Used if the assertions call nothing."""
    calls = [x for x in ast.walk(scope.test.node) if isinstance(x, ast.Call) and isinstance(x.func, ast.Attribute)]
    named = {
        x.func.attr for x in calls if isinstance(x.func, ast.Attribute) and _belongs_to_subject(x.func.value, scope)
    }
    return {name for name in named if not name[0].isupper()}


def _find_call_replacements(call: ast.Call, scope: TestScope) -> Iterator[Replacement]:
    verb = get_dotted_name(call.func).rpartition(".")[2]
    if verb == "setitem" and len(call.args) > 1:
        yield from _find_key_replacements(call.args[0], call.args[1], call.lineno, scope)
    if verb == "update" and isinstance(call.func, ast.Attribute) and (owner := _get_namespace_owner(call.func.value)):
        keywords = [each.arg for each in call.keywords if each.arg] if scope.is_subject(owner) else []
        yield from (Replacement(name, owner, call.lineno) for name in keywords)
    if verb not in {"patch", "setattr", "delattr", "object", "multiple"} or not call.args:
        return
    first = call.args[0]
    if verb == "multiple":
        named = get_constant_text(first) or get_dotted_name(first)
        if scope.suite.is_subject_module(named) or scope.is_subject(named):
            yield from (Replacement(each.arg, named, call.lineno) for each in call.keywords if each.arg)
        return
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        owner, _, name = first.value.rpartition(".")
        if scope.suite.is_subject_module(first.value):
            yield Replacement(name, owner, call.lineno)
    elif len(call.args) > 1 and (name := get_constant_text(call.args[1])) and _belongs_to_subject(first, scope):
        yield Replacement(name, get_dotted_name(first), call.lineno)


def _get_namespace_owner(node: ast.expr) -> str:
    """Return the owner of a namespace, such as `shop` for `vars(shop)` and `shop.__dict__`."""
    if isinstance(node, ast.Call) and get_dotted_name(node.func) == "vars" and node.args:
        return get_dotted_name(node.args[0])
    return get_dotted_name(node).removesuffix(".__dict__") if get_dotted_name(node).endswith(".__dict__") else ""


def _find_key_replacements(names: ast.expr, key: ast.expr, line: int, scope: TestScope) -> Iterator[Replacement]:
    """Yield replacements by key in `vars(shop)["add"] = …`, `shop.__dict__["add"] = …` and `globals()["add"] = …`."""
    if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
        return
    called = get_dotted_name(names.func) if isinstance(names, ast.Call) else ""
    owner = get_dotted_name(names).removesuffix(".__dict__") if get_dotted_name(names).endswith(".__dict__") else ""
    if called == "vars" and isinstance(names, ast.Call) and names.args:
        owner = get_dotted_name(names.args[0])
    if (owner and scope.is_subject(owner)) or (called == "globals" and scope.is_subject(key.value)):
        yield Replacement(key.value, owner or "globals()", line)


def _belongs_to_subject(node: ast.expr, scope: TestScope) -> bool:
    """Return whether the node is a module or class of the subject, or an object built from one."""
    if scope.is_subject(get_dotted_name(node)):
        return True
    built = {name: value for inner in ast.walk(scope.test.node) for name, value in find_bindings(inner)}
    value = built.get(get_dotted_name(node))
    return isinstance(value, ast.Call) and scope.is_subject(get_dotted_name(value.func))


def _find_asserted_calls(scope: TestScope) -> set[str]:
    """Return the names that are called to get the asserted values, except classes and built-ins."""
    bound = {name: value for inner in ast.walk(scope.test.node) for name, value in find_bindings(inner)}
    calls: set[str] = set()
    for statement in (x for x in ast.walk(scope.test.node) if isinstance(x, ast.Assert | ast.Expr)):
        if isinstance(statement, ast.Expr) and not get_dotted_name(
            getattr(statement.value, "func", statement)
        ).startswith("self.assert"):
            continue
        nodes = [statement, *(bound[x.id] for x in ast.walk(statement) if isinstance(x, ast.Name) and x.id in bound)]
        for call in (x for node in nodes for x in ast.walk(node) if isinstance(x, ast.Call)):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else get_dotted_name(call.func)
            calls.add(name)
    plain = {name for name in calls if name and not name[0].isupper() and not name.startswith("assert")}
    return plain - _BUILTIN_CALLS


def _check_module_wide_mocks(suite: Suite) -> Iterator[Fact]:
    """Report mocks that apply to every test: at import, in an autouse fixture, or in `sys.modules`."""
    module, probe = suite.module, _make_module_scope(suite)
    if probe is None:
        return
    for node in module.tree.body:
        if isinstance(node, FunctionNode) and not (is_fixture(node) and "autouse" in ast.dump(node)):
            continue
        if isinstance(node, ast.ClassDef):
            continue
        planned = {name.rpartition(".")[2] for name in suite.context.planned or ()}
        for each in _find_replacements(node, probe):
            if each.name in planned or not isinstance(node, FunctionNode):
                message = f"replaces `{each.owner}.{each.name}` for every test"
                yield Fact(code="RED405", path=module.path, line=each.line, message=message)
    for place in module.nodes:
        if _replaces_module(place, probe):
            message = "replaces a module of the project in `sys.modules`"
            yield Fact(code="RED405", path=module.path, line=getattr(place, "lineno", 0), message=message)


def _make_module_scope(suite: Suite) -> TestScope | None:
    """Return a scope for the whole module. A conftest has no test, so one of its functions is used."""
    module = suite.module
    functions = [node for node in module.nodes if isinstance(node, FunctionNode)]
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
        keys = [
            x.slice for x in node.targets if isinstance(x, ast.Subscript) and get_dotted_name(x.value) == "sys.modules"
        ]
    elif isinstance(node, ast.Call) and get_dotted_name(node.func).endswith((".setitem", ".dict")) and node.args:
        keys = list(node.args[1:]) if get_dotted_name(node.args[0]) == "sys.modules" else []
    texts = [x.value for key in keys for x in ast.walk(key) if isinstance(x, ast.Constant) and isinstance(x.value, str)]
    return any(text.partition(".")[0] in scope.suite.subject_packages for text in texts)
