"""Determines which values in a test can depend on the subject, the code under test.

A value made only of constants is "dead"; every other value is "live". The analysis ignores the order of statements and
treats a value as live when in doubt, so that the rules do not report honest tests.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import cached_property

from prd2pr.languages.python.test_model.module import FunctionNode, get_decorator_name, get_dotted_name, resolve_name
from prd2pr.languages.python.test_model.programs import runs_subject
from prd2pr.languages.python.test_model.scope import (
    PURE_BUILTINS,
    TestScope,
    find_parameter_sources,
    list_string_constants,
)

# Modules whose functions depend only on their arguments.
_PURE_MODULE_NAMES = """
    math operator re decimal fractions itertools functools collections json datetime string textwrap statistics copy
    enum typing types dataclasses numpy pytest unittest
"""
_PURE_MODULES = frozenset(_PURE_MODULE_NAMES.split())
_COMPOUND_STATEMENTS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.With, ast.AsyncWith, ast.Match)
_MOCK_CLASSES = frozenset({"Mock", "MagicMock", "AsyncMock", "NonCallableMock", "create_autospec"})
_PATCH_CALLS = _MOCK_CLASSES | {"patch", "setattr", "delattr", "object", "setitem", "delitem"}


@dataclass(frozen=True)
class Liveness:
    scope: TestScope
    dead_names: frozenset[str]

    def is_live(self, node: ast.AST) -> bool:
        return _is_live(node, self.scope, self.dead_names)

    @cached_property
    def constants(self) -> dict[str, ast.Constant]:
        """Dead names that the test binds exactly once, to a constant."""
        return {
            name: value
            for name, value in self.single_bindings.items()
            if name in self.dead_names and isinstance(value, ast.Constant)
        }

    @cached_property
    def single_bindings(self) -> dict[str, ast.expr]:
        """Names that the test binds exactly once, with their value."""
        found: dict[str, list[ast.expr]] = {}
        for node in ast.walk(self.scope.test.node):
            for name, value in find_bindings(node):
                found.setdefault(name, []).append(value)
        return {name: values[0] for name, values in found.items() if len(values) == 1}

    @cached_property
    def assigned_names(self) -> frozenset[str]:
        """Names that a statement in the test binds to a value."""
        return frozenset(name for inner in ast.walk(self.scope.test.node) for name, _ in find_bindings(inner))

    @cached_property
    def module_constants(self) -> dict[str, ast.expr]:
        """Values of the module-level names that the test uses and does not bind itself."""
        assigned = (node for node in self.scope.statements if isinstance(node, ast.Assign))
        return {
            name: node.value
            for node in assigned
            for name in map(get_dotted_name, node.targets)
            if name and name not in self.scope.bound_names
        }


def analyze_liveness(scope: TestScope) -> Liveness:
    """Find the dead names of a test: start with all bound names and remove those that depend on live values."""
    nodes = [node for statement in _list_statements(scope) for node in ast.walk(statement)]
    dead = _list_bound_names(scope, nodes)
    before = None
    while dead != before:
        before = dead
        for node in nodes:
            dead -= _find_touched_names(node, scope, dead)
        dead -= _find_live_parameters(scope, dead)
    return Liveness(scope, dead)


def _list_statements(scope: TestScope) -> list[ast.stmt]:
    return [*scope.statements, scope.test.node]


def _list_bound_names(scope: TestScope, nodes: list[ast.AST]) -> frozenset[str]:
    fixtures = {name for name, node in scope.used_fixtures.items() if not _returns_live(node)}
    bound = {name for node in nodes for name, _ in find_bindings(node)}
    own = {argument.arg for argument in scope.test.node.args.args}
    return frozenset((bound - own) | set(find_parameter_sources(scope.test)) | (fixtures & own))


def _find_live_parameters(scope: TestScope, dead: frozenset[str]) -> set[str]:
    """Return the parameters whose decorator contains a live value, as in `parametrize("f", [add])`."""
    return {
        name
        for name, source in find_parameter_sources(scope.test).items()
        if any(_is_live(argument, scope, dead) for argument in (*source.args, *source.keywords))
    }


def _returns_live(node: FunctionNode) -> bool:
    values = [x.value for x in ast.walk(node) if isinstance(x, ast.Return | ast.Yield) and x.value is not None]
    return any(not isinstance(value, ast.Constant) for value in values)


def find_bindings(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that a statement binds, with the bound expression."""
    pairs: list[tuple[ast.expr, ast.expr | None]] = []
    if isinstance(node, ast.Assign):
        pairs = [(target, node.value) for target in node.targets]
    elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
        pairs = [(node.target, node.value)]
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        pairs = [(node.target, node.iter)]
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        pairs = [(node.optional_vars, node.context_expr)]
    for target, value in pairs:
        if value is not None:
            yield from (
                (x.id, value) for x in ast.walk(target) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)
            )


def may_change(statement: ast.stmt, names: Container[str]) -> bool:
    """Return whether the statement may change an object with one of these names, as `cart += more` and `cart.add(1)`.

    An assertion changes it only if it calls one of its methods.
    """
    if _is_assertion(statement):
        calls = (node.func for node in ast.walk(statement) if isinstance(node, ast.Call))
        return any(isinstance(called, ast.Attribute) and get_root_name(called) in names for called in calls)
    return any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(statement))


def _is_assertion(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    called = get_dotted_name(call.func) if isinstance(call, ast.Call) else ""
    return isinstance(statement, ast.Assert) or called.startswith("self.assert")


def _find_touched_names(node: ast.AST, scope: TestScope, dead: frozenset[str]) -> set[str]:
    """Return the dead names that become live because of this node."""
    bound = list(find_bindings(node))
    names = {name for name, value in bound if name in dead and _is_live(value, scope, dead)}
    if isinstance(node, ast.Assign):
        roots = {get_root_name(target) for target in node.targets} & dead
        return names | (roots if roots and _is_live(node.value, scope, dead) else set())
    if isinstance(node, ast.Global | ast.Nonlocal):
        return names | (set(node.names) & dead)
    if isinstance(node, _COMPOUND_STATEMENTS):
        inside = {name for inner in ast.walk(node) for name, _ in find_bindings(inner)} & dead
        return names | (
            inside if inside and _is_live(node, scope, dead) else set()
        )  # the branch or the number of iterations is live
    if isinstance(node, FunctionNode | ast.Lambda | ast.ClassDef) and node is not scope.test.node:
        return names | (_list_names(node) & dead)  # a callback may change them
    return names | (_find_names_touched_by_call(node, scope, dead) if isinstance(node, ast.Call) else set())


def _find_names_touched_by_call(node: ast.Call, scope: TestScope, dead: frozenset[str]) -> set[str]:
    values = [*node.args, *(keyword.value for keyword in node.keywords)]
    root = get_root_name(node.func)
    if root in dead and isinstance(node.func, ast.Attribute):  # items.append(add(2, 3))
        return {root} if any(_is_live(value, scope, dead) for value in values) else set()
    passed = {name for value in values for name in _list_names(value)} & dead
    if not passed or not _is_live(node.func, scope, dead):
        return set()
    return {name for name in passed if not _is_immutable(name, scope)}


def _is_immutable(name: str, scope: TestScope) -> bool:
    """Return whether the name is bound only to numbers and strings, which the subject cannot change."""
    source = find_parameter_sources(scope.test).get(name)
    if source is not None:
        rows = source.args[1:2]
        return (
            bool(rows)
            and get_decorator_name(source).endswith("parametrize")
            and all(_is_plain_data(row) for row in rows)
        )
    bound = [
        value
        for each in _list_statements(scope)
        for node in ast.walk(each)
        for key, value in find_bindings(node)
        if key == name
    ]
    return bool(bound) and all(isinstance(value, ast.Constant) for value in bound)


def _is_plain_data(node: ast.expr) -> bool:
    items = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    return all(
        isinstance(item, ast.Constant) or (isinstance(item, ast.Tuple) and _is_plain_data(item)) for item in items
    )


def _list_names(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def get_root_name(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_live(node: ast.AST, scope: TestScope, dead: frozenset[str]) -> bool:
    bound_inside = {
        name for inner in ast.walk(node) if isinstance(inner, ast.comprehension) for name, _ in find_bindings(inner)
    }
    for inner in ast.walk(node):
        if isinstance(inner, ast.Await):
            return True
        if not isinstance(inner, ast.Name) or inner.id in bound_inside or inner.id in dead:
            continue
        if inner.id in scope.bound_names or _is_live_name(inner.id, scope):
            return True
    return False


def _is_live_name(name: str, scope: TestScope) -> bool:
    if name in scope.pure_functions:
        return False
    if name in scope.imports:
        full = resolve_name(name, scope.imports)
        return full.partition(".")[0] not in _PURE_MODULES or ".patch" in full
    if name in scope.helpers:
        return True
    return name not in PURE_BUILTINS


# --- use of the subject -----------------------------------------------------------------------------------------------


def uses_subject(scope: TestScope) -> bool:
    """Return whether the test, or a function that it reaches, calls or reads the subject.

    Importing it is not enough.
    """
    if scope.unknown_fixtures or scope.has_unknown_base or scope.drives_subject:
        return True
    for function in scope.reachable_functions:
        bound = (name for node in ast.walk(function) for name, _ in find_bindings(node))
        local = {*bound, *(argument.arg for argument in function.args.args)}
        decorators = list(function.decorator_list)
        if any(_node_uses_subject(node, scope, local) for node in (*function.body, *decorators)):
            return True
    around = [*scope.statements, *scope.used_classes, *scope.nested_classes, *scope.class_assignments]
    return any(_node_uses_subject(node, scope, set()) for node in around) or runs_subject(scope)


def _node_uses_subject(node: ast.AST, scope: TestScope, hidden: set[str]) -> bool:
    passed_over = {id(inner) for place in _find_idle_places(node) for inner in ast.walk(place)}
    for inner in ast.walk(node):
        if id(inner) in passed_over:
            continue
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load) and inner.id not in hidden:
            if scope.is_subject(inner.id):
                return True
        elif isinstance(inner, ast.Call) and any(map(scope.suite.mentions_subject, list_string_constants(inner.args))):
            return True
    return False


def _find_idle_places(node: ast.AST) -> Iterator[ast.AST]:
    """Yield nodes that mention a name without using it."""
    for place in ast.walk(node):
        if is_existence_check(place) or _is_patch_call(place):
            yield place
        elif isinstance(place, ast.Assert) and isinstance(place.test, ast.Name):
            yield place.test
        elif isinstance(place, ast.AnnAssign | ast.arg) and place.annotation is not None:
            yield place.annotation
        elif isinstance(place, ast.Call) and get_dotted_name(place.func).rpartition(".")[2] in {
            "raises",
            "warns",
            "assertRaises",
        }:
            yield from place.args[:1]  # naming an exception does not use the subject
        elif isinstance(place, ast.ExceptHandler) and place.type is not None:
            yield place.type


def _is_patch_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and get_dotted_name(node.func).rpartition(".")[2] in _PATCH_CALLS


def is_existence_check(node: ast.AST) -> bool:
    """Return whether the node only checks that a name exists.

    Examples are `callable(add)`, `hasattr(shop, "add")` and `add is not None`.
    """
    if isinstance(node, ast.Call) and get_dotted_name(node.func) in {"callable", "hasattr"}:
        return True
    if not (isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.IsNot | ast.NotEq)):
        return False
    right = node.comparators[0]
    return bool(get_dotted_name(node.left)) and isinstance(right, ast.Constant) and right.value is None
