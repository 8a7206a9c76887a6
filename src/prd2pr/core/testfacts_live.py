"""Which values in a test can have anything to do with the subject.

"Dead" is what is made of constants alone; all else is "live". The analysis ignores the order of statements and
believes in every doubt that a value is live: a rule built on it must not hit an honest test.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass

from prd2pr.core.testfacts_model import FunctionNode, decorator_name, dotted, resolve
from prd2pr.core.testfacts_scope import TestScope, parameter_sources, string_constants

# Modules whose functions make nothing but what their arguments say.
_CLOSED_WORDS = """
    math operator re decimal fractions itertools functools collections json datetime string textwrap statistics copy
    enum typing types dataclasses numpy pytest unittest
"""
_CLOSED_MODULES = frozenset(_CLOSED_WORDS.split())
_OPEN_BUILTINS = frozenset(
    {"open", "input", "vars", "globals", "locals", "__import__", "eval", "exec", "compile", "print"}
)
_BUILTINS = frozenset(dir(builtins)) - _OPEN_BUILTINS
_PATCHES = frozenset({"patch", "setattr", "delattr", "object", "setitem", "delitem"})


@dataclass(frozen=True)
class Liveness:
    scope: TestScope
    names: frozenset[str]  # dead names

    def is_live(self, node: ast.AST) -> bool:
        return _is_live(node, self.scope, self.names)


def liveness(scope: TestScope) -> Liveness:
    """Start with every name that is only ever bound to dead values, then drop those that something live touches."""
    dead = _bound_names(scope)
    while True:
        kept = frozenset(name for name in dead if not _touched(name, scope, dead))
        if kept == dead:
            return Liveness(scope, dead)
        dead = kept


def _statements(scope: TestScope) -> list[ast.stmt]:
    plain = [node for node in scope.module.tree.body if not isinstance(node, FunctionNode | ast.ClassDef)]
    return [*plain, scope.test.node]


def _bound_names(scope: TestScope) -> frozenset[str]:
    sources = parameter_sources(scope.test)
    fixtures = {name for name, node in scope.used_fixtures.items() if not _gives_live(node)}
    bound = {name for statement in _statements(scope) for node in ast.walk(statement) for name, _ in bindings(node)}
    own = {argument.arg for argument in scope.test.node.args.args}
    return frozenset((bound - own) | set(sources) | (fixtures & own))


def _gives_live(node: FunctionNode) -> bool:
    given = [x.value for x in ast.walk(node) if isinstance(x, ast.Return | ast.Yield) and x.value is not None]
    return any(not isinstance(value, ast.Constant) for value in given)


def bindings(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names that a statement binds, with the expression that feeds each."""
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


def _touched(name: str, scope: TestScope, dead: frozenset[str]) -> bool:
    source = parameter_sources(scope.test).get(name)
    if source is not None and any(_is_live(argument, scope, dead) for argument in (*source.args, *source.keywords)):
        return True
    return any(_touches(node, name, scope, dead) for statement in _statements(scope) for node in ast.walk(statement))


def _touches(node: ast.AST, name: str, scope: TestScope, dead: frozenset[str]) -> bool:
    if any(bound == name and _is_live(value, scope, dead) for bound, value in bindings(node)):
        return True
    if isinstance(node, ast.Assign) and any(_root(target) == name for target in node.targets):
        return _is_live(node.value, scope, dead)
    if isinstance(node, ast.Global | ast.Nonlocal):
        return name in node.names
    if isinstance(node, FunctionNode | ast.Lambda | ast.ClassDef) and node is not scope.test.node:
        return _uses(node, name)  # a callback may do anything with it
    return isinstance(node, ast.Call) and _call_touches(node, name, scope, dead)


def _call_touches(node: ast.Call, name: str, scope: TestScope, dead: frozenset[str]) -> bool:
    values = [*node.args, *(keyword.value for keyword in node.keywords)]
    if _root(node.func) == name and isinstance(node.func, ast.Attribute):
        return any(_is_live(value, scope, dead) for value in values)  # items.append(add(2, 3))
    handed = any(_uses(value, name) for value in values) and _is_live(node.func, scope, dead)
    return handed and not _is_immutable(name, scope)


def _is_immutable(name: str, scope: TestScope) -> bool:
    """Bound to numbers and texts alone: handing it to the subject cannot change it."""
    source = parameter_sources(scope.test).get(name)
    if source is not None:
        rows = source.args[1:2]
        return bool(rows) and decorator_name(source).endswith("parametrize") and all(_is_plain(row) for row in rows)
    bound = [
        value for each in _statements(scope) for node in ast.walk(each) for key, value in bindings(node) if key == name
    ]
    return bool(bound) and all(isinstance(value, ast.Constant) for value in bound)


def _is_plain(node: ast.expr) -> bool:
    items = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    return all(isinstance(item, ast.Constant) or (isinstance(item, ast.Tuple) and _is_plain(item)) for item in items)


def _uses(node: ast.AST, name: str) -> bool:
    return any(isinstance(inner, ast.Name) and inner.id == name for inner in ast.walk(node))


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_live(node: ast.AST, scope: TestScope, dead: frozenset[str]) -> bool:
    bound_inside = {
        name for inner in ast.walk(node) if isinstance(inner, ast.comprehension) for name, _ in bindings(inner)
    }
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and inner.id not in bound_inside | dead and _live_name(inner.id, scope):
            return True
        if isinstance(inner, ast.Await):
            return True
    return False


def _live_name(name: str, scope: TestScope) -> bool:
    if name in scope.imports:
        full = resolve(name, scope.imports)
        return full.partition(".")[0] not in _CLOSED_MODULES or ".patch" in full
    if name in scope.helpers:
        return True
    return name not in _BUILTINS


# --- use of the subject -----------------------------------------------------------------------------------------------


def uses_subject(scope: TestScope) -> bool:
    """Whether the subject is called, built or read anywhere in the test's reach, not merely imported or named."""
    if scope.unknown_fixtures or scope.foreign_base:
        return True
    for function in scope.reach:
        bound = (name for node in ast.walk(function) for name, _ in bindings(node))
        local = {*bound, *(argument.arg for argument in function.args.args)}
        decorators = list(function.decorator_list)
        if any(_uses_subject(node, scope, local) for node in (*function.body, *decorators)):
            return True
    plain = [
        node for node in scope.module.tree.body if isinstance(node, ast.Assign | ast.AnnAssign | ast.With | ast.Expr)
    ]
    return any(_uses_subject(node, scope, set()) for node in plain)


def _uses_subject(node: ast.AST, scope: TestScope, hidden: set[str]) -> bool:
    existence = {id(inner) for place in ast.walk(node) if only_asks_existence(place) for inner in ast.walk(place)}
    patched = {id(inner) for place in ast.walk(node) if _is_patch(place) for inner in ast.walk(place)}
    for inner in ast.walk(node):
        if id(inner) in existence or id(inner) in patched:
            continue
        if isinstance(inner, ast.Call) and _calls_subject(inner, scope, hidden):
            return True
        if isinstance(inner, ast.Attribute) and _is_subject(inner, scope, hidden) and isinstance(inner.ctx, ast.Load):
            return True
        if isinstance(inner, ast.Compare | ast.BinOp | ast.For | ast.Subscript | ast.ClassDef) and any(
            _is_subject(child, scope, hidden) for child in ast.iter_child_nodes(inner)
        ):
            return True
    return False


def _calls_subject(call: ast.Call, scope: TestScope, hidden: set[str]) -> bool:
    if _is_subject(call.func, scope, hidden):
        return True
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    if dotted(call.func).rpartition(".")[2] in {"raises", "warns", "assertRaises"}:
        values = values[1:]  # naming the exception is not yet using the subject
    handed = any(_is_subject(inner, scope, hidden) for value in values for inner in ast.walk(value))
    return handed or any(scope.mentions_subject(text) for text in string_constants(values))


def _is_subject(node: ast.AST, scope: TestScope, hidden: set[str]) -> bool:
    name = dotted(node)
    return bool(name) and name.partition(".")[0] not in hidden and scope.is_subject(name)


def _is_patch(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] in _PATCHES


def only_asks_existence(node: ast.AST) -> bool:
    """`callable(add)`, `hasattr(shop, "add")`, `add is not None`: true of anything with that name."""
    if isinstance(node, ast.Call) and dotted(node.func) in {"callable", "hasattr"}:
        return True
    if not (isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.IsNot | ast.NotEq)):
        return False
    right = node.comparators[0]
    return bool(dotted(node.left)) and isinstance(right, ast.Constant) and right.value is None
