"""RED409: the expected value comes from the subject itself, on whatever way round."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from prd2pr.core.evidence import Fact
from prd2pr.core.testfacts_chance import speaks_of_chance
from prd2pr.core.testfacts_live import bindings
from prd2pr.core.testfacts_model import FunctionNode, dotted, judged_tests, resolve
from prd2pr.core.testfacts_scope import TestScope, argument_names, parameter_sources, scope_of, scopes
from prd2pr.core.testfacts_suite import Suite
from prd2pr.core.testfacts_unroll import number, unrolled

_DEPTH = 3  # how many names, one standing for the next, are followed
_NAMES = 500  # that are replaced in one expression
_UNITTEST: dict[str, type[ast.cmpop]] = {"self.assertEqual": ast.Eq, "self.assertNotEqual": ast.NotEq}
_WHERE = (ast.Assert, ast.Assign, ast.With, ast.Return, ast.For)


def mirror_facts(suite: Suite) -> Iterator[Fact]:
    readers = [_Reader(scope) for scope in scopes(suite, judged_tests(suite.module, suite.context))]
    mirrored = [(reader, node, names) for reader in readers for node, names in reader.mirrors()]
    unlike = [(reader, node, names) for reader in readers for node, names in reader.unlike_itself()]
    if not mirrored and not unlike:
        return
    spent = {id(x) for reader, node, _ in (*mirrored, *unlike) for x in reader.spent(node)}
    checked = {name for test in suite.module.tests for name in _used_otherwise(scope_of(suite, test), spent)}
    for reader, node, names in mirrored:
        if not names & checked:
            why = f"`{min(names)}` is compared with itself only: any answer would do"
            yield Fact(code="RED409", path=suite.module.path, line=node.lineno, test=reader.scope.test.id, message=why)
    for reader, node, names in unlike:
        if not names & checked:
            why = f"`{ast.unparse(node)}`, and nothing else is asked of `{min(names)}`: only chance could do it"
            yield Fact(code="RED310", path=suite.module.path, line=node.lineno, test=reader.scope.test.id, message=why)


def _used_otherwise(scope: TestScope, spent: set[int]) -> Iterator[str]:
    """Functions that a test asserts on, expects an error from, or works with, beside the mirrored calls."""
    statements = [node for node in ast.walk(scope.test.node) if isinstance(node, _WHERE)]
    for call in (x for node in statements for x in ast.walk(node) if isinstance(x, ast.Call) and id(x) not in spent):
        yield resolve(dotted(call.func), scope.imports)


def asserted_compares(test: ast.stmt) -> Iterator[ast.Compare]:
    for node in ast.walk(test):
        if isinstance(node, ast.Assert):
            both = isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And)
            parts = node.test.values if both and isinstance(node.test, ast.BoolOp) else [node.test]
            yield from (x for x in parts if isinstance(x, ast.Compare) and len(x.ops) == 1)
        elif isinstance(node, ast.Call) and (op := _UNITTEST.get(dotted(node.func))) and len(node.args) >= 2:
            compare = ast.Compare(left=node.args[0], ops=[op()], comparators=[node.args[1]])
            yield ast.copy_location(compare, node)


@dataclass(frozen=True)
class _Reader:
    scope: TestScope

    def mirrors(self) -> Iterator[tuple[ast.Compare, set[str]]]:
        for node in asserted_compares(self.scope.test.node):
            names = self._mirrored(node)
            if names:
                yield node, names

    def unlike_itself(self) -> Iterator[tuple[ast.Compare, set[str]]]:
        """`fee(5) != fee(5)`, where no word of the test is about chance and the call is given something."""
        for node in asserted_compares(self.scope.test.node):
            one, other = self._plain(node.left), self._plain(node.comparators[0])
            given = isinstance(one, ast.Call) and bool(one.args or one.keywords)
            if given and isinstance(node.ops[0], ast.NotEq | ast.Lt | ast.Gt) and ast.dump(one) == ast.dump(other):
                names = self._functions(one)
                if names and not speaks_of_chance(self.scope):
                    yield node, names

    def spent(self, node: ast.Compare) -> Iterator[ast.AST]:
        """The compare itself and what its names were bound to."""
        yield from ast.walk(node)
        names = {x.id for x in ast.walk(node) if isinstance(x, ast.Name)}
        for name, values in self._bound.items():
            if name in names:
                yield from (x for value in values for x in ast.walk(value))

    def _mirrored(self, node: ast.Compare) -> set[str]:
        left, op, right = node.left, node.ops[0], node.comparators[0]
        one, other = self._plain(left), self._plain(right)
        if isinstance(op, ast.In):
            held = other.elts if isinstance(other, ast.List | ast.Tuple | ast.Set) else []
            return self._functions(one) if ast.dump(one) in {ast.dump(item) for item in held} else set()
        if not isinstance(op, ast.Eq | ast.Is):
            return set()
        if isinstance(op, ast.Is):  # that two calls give one object says something: of a cache, say
            return self._same_type(one, other)
        if ast.dump(one) == ast.dump(other):
            return self._functions(one)
        return (
            self._nothing_left(one, other)
            or self._same_type(one, other)
            or self._in_the_rows(left, other)
            or self._in_the_rows(right, one)
            or self._by_default(left, other)
            or self._by_default(right, one)
        )

    def _nothing_left(self, one: ast.expr, other: ast.expr) -> set[str]:
        """`f(2) - f(2) == 0`"""
        gap = isinstance(one, ast.BinOp) and isinstance(one.op, ast.Sub) and number(other) == 0
        same = gap and isinstance(one, ast.BinOp) and ast.dump(one.left) == ast.dump(one.right)
        return self._functions(one) if same else set()

    def _same_type(self, one: ast.expr, other: ast.expr) -> set[str]:
        """`type(f(2)) is type(f(3))`"""
        asked = [x.args[0] for x in (one, other) if isinstance(x, ast.Call) and dotted(x.func) == "type" and x.args]
        called = [dotted(x.func) for x in asked if isinstance(x, ast.Call)]
        return self._functions(one) if len(called) == 2 and called[0] == called[1] else set()

    def _in_the_rows(self, side: ast.expr, other: ast.expr) -> set[str]:
        """`parametrize("n, want", [(2, f(2))])` and then `f(n) == want`."""
        source = parameter_sources(self.scope.test).get(dotted(side)) if isinstance(side, ast.Name) else None
        if source is None or len(source.args) < 2 or not isinstance(side, ast.Name):
            return set()
        given = [self._plain(x) for x in _column(source.args[1], argument_names(source.args[0]), side.id)]
        return self._functions(other) & {name for value in given for name in self._functions(value)}

    def _by_default(self, side: ast.expr, other: ast.expr) -> set[str]:
        """Where nothing was stored, the subject's own answer is taken: `except FileNotFoundError: want = f(2)`."""
        if not isinstance(side, ast.Name):
            return set()
        places = [x for x in ast.walk(self.scope.test.node) if isinstance(x, ast.ExceptHandler | ast.If)]
        bound = [value for x in places for y in ast.walk(x) for name, value in bindings(y) if name == side.id]
        same = any(ast.dump(self._plain(value)) == ast.dump(other) for value in bound)
        return self._functions(other) if same else set()

    def _functions(self, node: ast.expr) -> set[str]:
        """Functions of the subject. Two equal objects built alike test `__eq__`, so classes do not count."""
        calls = {dotted(x.func) for x in ast.walk(node) if isinstance(x, ast.Call)}
        names = {name for name in calls if name and self.scope.suite.is_subject_module(name)}
        return {name for name in names if not name.rpartition(".")[2][:1].isupper()}

    # --- one form for what is the same ---

    def _plain(self, node: ast.expr) -> ast.expr:
        result: ast.expr = _Plain(self, _DEPTH, _Room(_NAMES)).visit(copy.deepcopy(node))
        return result

    @cached_property
    def _bound(self) -> dict[str, list[ast.expr]]:
        found: dict[str, list[ast.expr]] = {}
        for node in ast.walk(self.scope.test.node):
            whole = isinstance(node, ast.NamedExpr) or (
                isinstance(node, ast.Assign) and all(isinstance(target, ast.Name) for target in node.targets)
            )
            for name, value in bindings(node):
                found.setdefault(name, []).extend([value] if whole else [value, value])
        return found

    @cached_property
    def known(self) -> dict[str, ast.expr]:
        """What a name stands for: bound once in the test, given by a simple fixture, or a constant of the module."""
        constants = {
            name: node.value
            for node in self.scope.statements
            if isinstance(node, ast.Assign)
            for name in map(dotted, node.targets)
            if name and name not in self.scope.bound
        }
        asked = {argument.arg for argument in self.scope.test.node.args.args}
        fixtures = {name: node for name, node in self.scope.used_fixtures.items() if name in asked}
        given = {name: value for name, node in fixtures.items() if (value := _given(node)) is not None}
        once = {name: values[0] for name, values in self._bound.items() if len(values) == 1}
        return {**constants, **given, **once}


def _given(node: FunctionNode) -> ast.expr | None:
    """What a fixture without parameters hands out, where it does nothing else."""
    last = node.body[-1]
    if node.args.args or len(node.body) != 1 or not isinstance(last, ast.Return):
        return None
    return last.value


def _column(rows: ast.expr, names: list[str], wanted: str) -> list[ast.expr]:
    if wanted not in names:
        return []
    place = names.index(wanted)
    items = [rows.elt] if isinstance(rows, ast.ListComp | ast.GeneratorExp) else getattr(rows, "elts", [])
    if len(names) == 1:
        return list(items)
    return [x.elts[place] for x in items if isinstance(x, ast.Tuple | ast.List) and len(x.elts) > place]


@dataclass
class _Room:
    """How many names may still be replaced: few texts stand for more than anybody reads."""

    left: int

    def take(self) -> bool:
        self.left -= 1
        return self.left >= 0


class _Plain(ast.NodeTransformer):
    """Full names for the subject's, values for names, lists for comprehensions over constants."""

    def __init__(self, reader: _Reader, depth: int, room: _Room) -> None:
        self.reader = reader
        self.depth = depth
        self.room = room

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._named(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return self._named(node) if dotted(node) else self.generic_visit(node)

    def _named(self, node: ast.Name | ast.Attribute) -> ast.expr:
        name, scope = dotted(node), self.reader.scope
        value = self.reader.known.get(name)
        if value is not None and self.depth and isinstance(node, ast.Name) and self.room.take():
            result: ast.expr = _Plain(self.reader, self.depth - 1, self.room).visit(copy.deepcopy(value))
            return result
        local = name.partition(".")[0] in scope.bound
        return ast.Name(name if local else resolve(name, scope.imports), ast.Load())

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        result: ast.AST = self.visit(node.value)
        return result

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        items = unrolled(node)
        return self.generic_visit(node if items is None else ast.List(items, ast.Load()))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        first = node.args[0] if len(node.args) == 1 else None
        if dotted(node.func) in {"sorted", "list"} and isinstance(first, ast.List) and len(first.elts) == 1:
            return self.generic_visit(first)
        return self.generic_visit(node)
