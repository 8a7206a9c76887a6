"""The examples that tests give: of which call they expect which value, where both are written down.

Names are followed to what they stand for: imports, variables, rows of a table, parameters of small helpers. So the same
example is known again in whatever form it is written.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TypeGuard

from prd2pr.core.test_naming import USUAL, TestNaming
from prd2pr.core.testfacts_model import (
    DeclaredTest,
    FunctionNode,
    TestModule,
    dotted,
    imports_of,
    parse_tests,
)

MOST_ROWS = 200
DEEPEST = 3  # helpers that call helpers
LARGEST = 2_000  # parts of an expression: a test that doubles a value again and again is not followed for ever
MOST_PARTS = 1_000_000  # of all expressions of a file, with names replaced: about a megabyte of tests
_EQUAL = frozenset(
    {"assertEqual", "assertListEqual", "assertDictEqual", "assertTupleEqual", "assertSetEqual", "assertMultiLineEqual"}
)
Bound = Mapping[str, ast.expr]


@dataclass(frozen=True)
class Example:
    """`call` is closed: full names of the project and literals, nothing else."""

    test: str
    row: int  # of a table, counted from 0
    path: str
    line: int
    call: str
    expected: str
    value: str  # the variable of the test that holds what was called; two with the same one are about one call
    first: bool  # nothing was done before that could change the answer
    function: str  # full dotted name of what is called, where it is called with literals alone
    arguments: tuple[str, ...]  # its arguments, as they are written


class _TooMuch(Exception):
    """What a short text stands for is longer than anybody can read."""


def examples_in(path: str, text: str, naming: TestNaming = USUAL) -> tuple[Example, ...]:
    """None where a text is nested deeper than anybody writes by hand, and no more once a file takes too long."""
    module = parse_tests(path, text, naming) if naming.is_module(path) else None
    found: list[Example] = []
    try:
        if module is not None:
            file = _File(module)
            found.extend(each for test in module.tests for each in _of_test(file, test))
    except RecursionError:
        return ()
    except _TooMuch:
        pass
    return tuple(found)


def _of_test(file: _File, test: DeclaredTest) -> Iterator[Example]:
    reader = _Reader(file, test)
    for number, row in enumerate(_rows(test)):
        reader.row, reader.first = number, reader.is_bare
        yield from reader.read(test.node.body, row, 0)


def _rows(test: DeclaredTest) -> Iterator[dict[str, ast.expr]]:
    """Values of the parameters, for each row of one table; none where they cannot be told."""
    tables = [item for item in test.node.decorator_list if _is_table(item)]
    table = tables[0] if len(tables) == 1 else None
    if not isinstance(table, ast.Call) or len(table.args) < 2 or not isinstance(table.args[1], ast.List | ast.Tuple):
        yield {}
        return
    names = _names(table.args[0])
    for row in table.args[1].elts[:MOST_ROWS]:
        cells = [row]
        if isinstance(row, ast.Call) and dotted(row.func).endswith("param"):
            cells = row.args
        elif isinstance(row, ast.Tuple | ast.List) and len(names) > 1:
            cells = row.elts
        if len(cells) == len(names):
            yield dict(zip(names, cells, strict=True))


def _is_table(node: ast.expr) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and dotted(node.func).endswith("parametrize")


def _names(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [each.strip() for each in node.value.split(",")]
    listed = node.elts if isinstance(node, ast.Tuple | ast.List) else []
    return [str(each.value) for each in listed if isinstance(each, ast.Constant)]


class _File:
    """What all tests of a module share, read once."""

    def __init__(self, module: TestModule) -> None:
        body = module.tree.body
        self.path = module.path
        self.imports = imports_of(body)
        self.imported = frozenset(self.imports.values())
        self.helpers = {node.name: node for node in body if isinstance(node, FunctionNode)}
        self.constants = {
            node.targets[0].id: node.value
            for node in body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _is_literal(node.value)
        }
        set_up = {name.lower() for name in self.helpers} & {"setup_module", "setup_function", "setup"}
        unasked = any("autouse" in ast.dump(helper) for helper in self.helpers.values() if helper.decorator_list)
        self.is_bare = not set_up and not unasked and all(_does_nothing(node) for node in body)
        self._left = MOST_PARTS

    def take(self, parts: int) -> None:
        self._left -= parts
        if self._left < 0:
            raise _TooMuch


class _Reader:
    def __init__(self, file: _File, test: DeclaredTest) -> None:
        self._file, self._test = file, test
        self.row, self.first = 0, True
        self._inlining: list[str] = []  # helpers, the innermost last

    @property
    def is_bare(self) -> bool:
        """Nothing but rows of a table comes into the test from outside: no fixture, no set-up, nothing at import."""
        decorators, owners = self._test.node.decorator_list, self._test.owners
        given = {argument.arg for argument in self._test.node.args.args} - {"self"}
        rows = {name for item in decorators if _is_table(item) for name in _names(item.args[0])}
        others = [item for item in decorators if not _is_table(item)]
        others += [item for owner in owners for item in owner.decorator_list]
        inherited = [base for owner in owners for base in owner.bases]
        members = {item.name for owner in owners for item in owner.body if isinstance(item, FunctionNode)}
        return (
            self._file.is_bare
            and given <= rows
            and not others
            and all(dotted(base).rpartition(".")[2] == "TestCase" for base in inherited)
            and not any(name.lower().startswith("setup") or "fixture" in name for name in members)
        )

    def read(self, body: list[ast.stmt], bound: Bound, depth: int) -> Iterator[Example]:
        names = dict(bound)
        held: dict[str, str] = {}
        for statement in body:
            if isinstance(statement, ast.Assign) and (parts := self._unpacked(statement, names)):
                names.update(parts)
            elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                name = statement.targets[0].id
                names[name] = self._closed(statement.value, names)
                held[name] = f"{name}@{statement.lineno}"
                if not _is_literal(names[name]) and self._key(names[name]) is None:
                    self.first = False
            elif (pair := _compared(statement)) is not None:
                yield from self._example(statement, pair, names, held)
            elif (called := self._helper(statement)) is not None and depth < DEEPEST:
                helper, call = called
                closed = [self._closed(each, names) for each in call.args]
                named = {each.arg: self._closed(each.value, names) for each in call.keywords if each.arg}
                yield from self.read(helper.body, _given(helper, closed, named), depth + 1)
            elif not isinstance(statement, ast.Import | ast.ImportFrom | ast.Pass | ast.Assert):
                self.first = self.first and _is_docstring(statement)

    def _unpacked(self, statement: ast.Assign, names: Bound) -> dict[str, ast.expr]:
        """`celsius, kelvin = row`"""
        target, value = statement.targets[0], self._closed(statement.value, names)
        if not isinstance(target, ast.Tuple | ast.List) or not isinstance(value, ast.Tuple | ast.List):
            return {}
        parts = [each.id for each in target.elts if isinstance(each, ast.Name)]
        return dict(zip(parts, value.elts, strict=True)) if len(parts) == len(target.elts) == len(value.elts) else {}

    def _example(
        self, statement: ast.stmt, pair: tuple[ast.expr, ast.expr], names: Bound, held: Mapping[str, str]
    ) -> Iterator[Example]:
        for side, other in (pair, pair[::-1]):
            call, expected = self._closed(side, names), self._closed(other, names)
            key = self._key(call)
            if key is None or not _is_literal(expected):
                continue
            name, arguments = _call_of(call)
            yield Example(
                test=self._test.id,
                row=self.row,
                path=self._file.path,
                line=statement.lineno,
                call=key,
                expected=repr(ast.literal_eval(expected)),
                value=held.get(dotted(side), ""),
                first=self.first,
                function=name,
                arguments=arguments,
            )
            self.first = False
            return

    def _helper(self, statement: ast.stmt) -> tuple[FunctionNode, ast.Call] | None:
        call = statement.value if isinstance(statement, ast.Expr) else None
        helper = self._file.helpers.get(dotted(call.func)) if isinstance(call, ast.Call) else None
        return (helper, call) if helper is not None and isinstance(call, ast.Call) else None

    def _closed(self, node: ast.expr, names: Bound) -> ast.expr:
        """With names replaced by what they stand for, as far as that is known."""
        closed: ast.expr = _Following(self, names).visit(copy.deepcopy(node))
        parts = sum(1 for _ in islice(ast.walk(closed), LARGEST + 1))
        self._file.take(parts)
        return closed if parts <= LARGEST else node

    def standing_for(self, name: str, names: Bound) -> ast.expr | None:
        """Not a copy: what was closed once is never changed again, and may be large."""
        if name in names:
            return names[name]
        if name in self._file.constants:
            return self._file.constants[name]
        if name in self._file.imports:
            return ast.Name(self._file.imports[name], ast.Load())
        return None

    def inlined(self, call: ast.Call) -> ast.expr | None:
        """What a helper returns that does nothing else. The arguments are closed already."""
        helper = self._file.helpers.get(dotted(call.func))
        if helper is None or len(helper.body) != 1 or not isinstance(helper.body[0], ast.Return):
            return None
        value = helper.body[0].value
        if value is None or helper.name in self._inlining or len(self._inlining) >= DEEPEST:
            return None
        given = _given(helper, call.args, {each.arg: each.value for each in call.keywords if each.arg})
        self._inlining.append(helper.name)
        try:
            return self._closed(value, given)
        finally:
            self._inlining.pop()

    def _key(self, node: ast.expr) -> str | None:
        """The call as text, where it is one of something imported, with nothing open in it."""
        if not any(isinstance(each, ast.Call) for each in ast.walk(node)):
            return None
        roots = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        imported = roots & self._file.imported
        closed = all(name in imported or hasattr(builtins, name) for name in roots)
        return ast.unparse(node) if imported and closed else None


def _given(helper: FunctionNode, args: list[ast.expr], named: Bound) -> dict[str, ast.expr]:
    parameters = [argument.arg for argument in helper.args.args]
    return {**dict(zip(parameters, args, strict=False)), **named}


class _Following(ast.NodeTransformer):
    def __init__(self, reader: _Reader, names: Bound) -> None:
        self._reader, self._names = reader, names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        found = self._reader.standing_for(node.id, self._names)
        return node if found is None else found

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """From the inside: what is handed over is followed once."""
        self.generic_visit(node)
        return self._reader.inlined(node) or node


def _compared(statement: ast.stmt) -> tuple[ast.expr, ast.expr] | None:
    if isinstance(statement, ast.Assert) and isinstance(statement.test, ast.Compare):
        compare = statement.test
        if len(compare.ops) == 1 and isinstance(compare.ops[0], ast.Eq | ast.Is):
            return compare.left, compare.comparators[0]
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and len(call.args) >= 2 and dotted(call.func).rpartition(".")[2] in _EQUAL:
        return call.args[0], call.args[1]
    return None


def _call_of(node: ast.expr) -> tuple[str, tuple[str, ...]]:
    """Of `shop.price.net(10, rate=2)` name and arguments; empty for what is more than one call."""
    if not isinstance(node, ast.Call) or not (name := dotted(node.func)):
        return "", ()
    given = [*node.args, *(each.value for each in node.keywords)]
    if not given or not all(_is_literal(each) for each in given):
        return "", ()
    return name, tuple(repr(ast.literal_eval(each)) for each in given)


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _does_nothing(node: ast.stmt) -> bool:
    """Defines, imports, or binds a name of its own."""
    if isinstance(node, ast.Assign):
        return all(isinstance(each, ast.Name) and each.id != "pytestmark" for each in node.targets)
    kinds = FunctionNode | ast.ClassDef | ast.Import | ast.ImportFrom | ast.AnnAssign | ast.If
    return isinstance(node, kinds) or _is_docstring(node)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
