"""Which values in a test can have anything to do with the subject.

"Dead" is what is made of constants alone; all else is "live". The analysis ignores the order of statements and
believes in every doubt that a value is live: a rule built on it must not hit an honest test.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from prd2pr.core.testfacts_model import FunctionNode, decorator_name, dotted, resolve
from prd2pr.core.testfacts_programs import runs_subject
from prd2pr.core.testfacts_scope import CLOSED_BUILTINS, TestScope, parameter_sources, string_constants

# Modules whose functions make nothing but what their arguments say.
_CLOSED_WORDS = """
    math operator re decimal fractions itertools functools collections json datetime string textwrap statistics copy
    enum typing types dataclasses numpy pytest unittest
"""
_CLOSED_MODULES = frozenset(_CLOSED_WORDS.split())
_COMPOUND = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.With, ast.AsyncWith, ast.Match)
_STAND_INS = frozenset({"Mock", "MagicMock", "AsyncMock", "NonCallableMock", "create_autospec"})
_PATCHES = _STAND_INS | {"patch", "setattr", "delattr", "object", "setitem", "delitem"}


@dataclass(frozen=True)
class Liveness:
    scope: TestScope
    names: frozenset[str]  # dead names

    def is_live(self, node: ast.AST) -> bool:
        return _is_live(node, self.scope, self.names)

    @cached_property
    def constants(self) -> dict[str, ast.Constant]:
        """Dead names that the test itself binds once, to a constant."""
        return {
            name: value
            for name, value in self.bound_once.items()
            if name in self.names and isinstance(value, ast.Constant)
        }

    @cached_property
    def bound_once(self) -> dict[str, ast.expr]:
        """Names that the test itself binds once and hides no parameter with."""
        found: dict[str, list[ast.expr]] = {}
        for node in ast.walk(self.scope.test.node):
            for name, value in bindings(node):
                found.setdefault(name, []).append(value)
        return {name: values[0] for name, values in found.items() if len(values) == 1}

    @cached_property
    def assigned(self) -> frozenset[str]:
        """Names that some statement of the test binds to a value."""
        return frozenset(name for inner in ast.walk(self.scope.test.node) for name, _ in bindings(inner))

    @cached_property
    def module_constants(self) -> dict[str, ast.expr]:
        """What the module assigns to a name that the test uses and does not bind itself."""
        assigned = (node for node in self.scope.statements if isinstance(node, ast.Assign))
        return {
            name: node.value
            for node in assigned
            for name in map(dotted, node.targets)
            if name and name not in self.scope.bound
        }


def liveness(scope: TestScope) -> Liveness:
    """Start with every name that is only ever bound to dead values, then drop those that something live touches."""
    nodes = [node for statement in _statements(scope) for node in ast.walk(statement)]
    dead = _bound_names(scope, nodes)
    before = None
    while dead != before:
        before = dead
        for node in nodes:
            dead -= _touched(node, scope, dead)
        dead -= _fed_live(scope, dead)
    return Liveness(scope, dead)


def _statements(scope: TestScope) -> list[ast.stmt]:
    return [*scope.statements, scope.test.node]


def _bound_names(scope: TestScope, nodes: list[ast.AST]) -> frozenset[str]:
    fixtures = {name for name, node in scope.used_fixtures.items() if not _gives_live(node)}
    bound = {name for node in nodes for name, _ in bindings(node)}
    own = {argument.arg for argument in scope.test.node.args.args}
    return frozenset((bound - own) | set(parameter_sources(scope.test)) | (fixtures & own))


def _fed_live(scope: TestScope, dead: frozenset[str]) -> set[str]:
    """Parameters whose decorator mentions something live: `parametrize("f", [add])`."""
    return {
        name
        for name, source in parameter_sources(scope.test).items()
        if any(_is_live(argument, scope, dead) for argument in (*source.args, *source.keywords))
    }


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


def _touched(node: ast.AST, scope: TestScope, dead: frozenset[str]) -> set[str]:
    """Dead names that this node makes live."""
    bound = list(bindings(node))
    names = {name for name, value in bound if name in dead and _is_live(value, scope, dead)}
    if isinstance(node, ast.Assign):
        roots = {root_of(target) for target in node.targets} & dead
        return names | (roots if roots and _is_live(node.value, scope, dead) else set())
    if isinstance(node, ast.Global | ast.Nonlocal):
        return names | (set(node.names) & dead)
    if isinstance(node, _COMPOUND):
        inside = {name for inner in ast.walk(node) for name, _ in bindings(inner)} & dead
        return names | (inside if inside and _is_live(node, scope, dead) else set())  # how often, or whether, is live
    if isinstance(node, FunctionNode | ast.Lambda | ast.ClassDef) and node is not scope.test.node:
        return names | (_names_in(node) & dead)  # a callback may do anything with them
    return names | (_call_touches(node, scope, dead) if isinstance(node, ast.Call) else set())


def _call_touches(node: ast.Call, scope: TestScope, dead: frozenset[str]) -> set[str]:
    values = [*node.args, *(keyword.value for keyword in node.keywords)]
    root = root_of(node.func)
    if root in dead and isinstance(node.func, ast.Attribute):  # items.append(add(2, 3))
        return {root} if any(_is_live(value, scope, dead) for value in values) else set()
    handed = {name for value in values for name in _names_in(value)} & dead
    if not handed or not _is_live(node.func, scope, dead):
        return set()
    return {name for name in handed if not _is_immutable(name, scope)}


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


def _names_in(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def root_of(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_live(node: ast.AST, scope: TestScope, dead: frozenset[str]) -> bool:
    bound_inside = {
        name for inner in ast.walk(node) if isinstance(inner, ast.comprehension) for name, _ in bindings(inner)
    }
    for inner in ast.walk(node):
        if isinstance(inner, ast.Await):
            return True
        if not isinstance(inner, ast.Name) or inner.id in bound_inside or inner.id in dead:
            continue
        if inner.id in scope.bound or _live_name(inner.id, scope):
            return True
    return False


def _live_name(name: str, scope: TestScope) -> bool:
    if name in scope.closed_functions:
        return False
    if name in scope.imports:
        full = resolve(name, scope.imports)
        return full.partition(".")[0] not in _CLOSED_MODULES or ".patch" in full
    if name in scope.helpers:
        return True
    return name not in CLOSED_BUILTINS


# --- use of the subject -----------------------------------------------------------------------------------------------


def uses_subject(scope: TestScope) -> bool:
    """Whether the subject is called, built or read anywhere in the test's reach, not merely imported or named."""
    if scope.unknown_fixtures or scope.foreign_base or scope.drives_subject:
        return True
    for function in scope.reach:
        bound = (name for node in ast.walk(function) for name, _ in bindings(node))
        local = {*bound, *(argument.arg for argument in function.args.args)}
        decorators = list(function.decorator_list)
        if any(_uses_subject(node, scope, local) for node in (*function.body, *decorators)):
            return True
    around = [*scope.statements, *scope.used_classes, *scope.class_statements]
    return any(_uses_subject(node, scope, set()) for node in around) or runs_subject(scope)


def _uses_subject(node: ast.AST, scope: TestScope, hidden: set[str]) -> bool:
    passed_over = {id(inner) for place in _idle_places(node) for inner in ast.walk(place)}
    for inner in ast.walk(node):
        if id(inner) in passed_over:
            continue
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load) and inner.id not in hidden:
            if scope.is_subject(inner.id):
                return True
        elif isinstance(inner, ast.Call) and any(map(scope.suite.mentions_subject, string_constants(inner.args))):
            return True
    return False


def _idle_places(node: ast.AST) -> Iterator[ast.AST]:
    """Where a name is mentioned and nothing is done with it."""
    for place in ast.walk(node):
        if only_asks_existence(place) or _is_patch(place):
            yield place
        elif isinstance(place, ast.Assert) and isinstance(place.test, ast.Name):
            yield place.test
        elif isinstance(place, ast.AnnAssign | ast.arg) and place.annotation is not None:
            yield place.annotation
        elif isinstance(place, ast.Call) and dotted(place.func).rpartition(".")[2] in {
            "raises",
            "warns",
            "assertRaises",
        }:
            yield from place.args[:1]  # naming the exception is not yet using the subject
        elif isinstance(place, ast.ExceptHandler) and place.type is not None:
            yield place.type


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
