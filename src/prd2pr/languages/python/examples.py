"""Reads the examples in tests: which call is expected to return which value, where both are literals.

Names are resolved, including imports, variables, table rows and parameters of small helpers, so that the same example
is recognized however it is written.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TypeGuard

from prd2pr.languages.python.test_model.data_flow import may_change
from prd2pr.languages.python.test_model.module import (
    DeclaredTest,
    FunctionNode,
    TestModule,
    collect_imports,
    get_dotted_name,
    parse_tests,
    unparse_node,
)
from prd2pr.languages.python.test_naming import DEFAULT_NAMING, TestNaming

MAX_ROWS = 200
MAX_HELPER_DEPTH = 3  # nesting of helpers that call helpers
MAX_EXPRESSION_NODES = 2_000  # limit for one resolved expression, such as a value that is doubled repeatedly
MAX_FILE_NODES = 1_000_000  # limit for all resolved expressions of a file: about a megabyte of tests
_EQUALITY_ASSERTIONS = frozenset(
    {"assertEqual", "assertListEqual", "assertDictEqual", "assertTupleEqual", "assertSetEqual", "assertMultiLineEqual"}
)
Bindings = Mapping[str, ast.expr]


@dataclass(frozen=True)
class CallExample:
    """One expected result. `call` contains only literals and full names from the project."""

    test: str
    row: int  # row of the parameter table, starting at 0
    path: str
    line: int
    call: str
    expected: str
    value: str  # variable that stores the result; examples with the same variable concern one call
    first: bool  # nothing ran before that could change the answer
    function: str  # full dotted name of the called function, if all arguments are literals
    arguments: tuple[str, ...]  # arguments as written


class _TooLarge(Exception):
    """Raised when the resolved expressions of a file exceed the limit."""


def find_examples(
    path: str,
    text: str,
    naming: TestNaming = DEFAULT_NAMING,
    *,
    only: Container[str] | None = None,
    called: frozenset[str] | None = None,
) -> tuple[CallExample, ...]:
    """Return the examples in a test file: of the tests in `only`, and of those that may use a name in `called`.

    There are none if the file is nested too deeply, and some are missing if it is too large.
    """
    if called is not None and not any(name in text for name in called):
        return ()
    module = parse_tests(path, text, naming) if naming.is_module(path) else None
    found: list[CallExample] = []
    try:
        if module is not None:
            file = _FileContext(module)
            tests = [test for test in module.tests if only is None or test.id in only]
            tests = [test for test in tests if called is None or file.may_use(test, called)]
            found.extend(each for test in tests for each in _read_test(file, test))
    except RecursionError:
        return ()
    except _TooLarge:
        pass
    return tuple(found)


def _read_test(file: _FileContext, test: DeclaredTest) -> Iterator[CallExample]:
    reader = _ExampleReader(file, test)
    for number, row in enumerate(_read_table_rows(test)):
        reader.row, reader.first = number, reader.is_isolated
        yield from reader.read_body(test.node.body, row, 0)


def _read_table_rows(test: DeclaredTest) -> Iterator[dict[str, ast.expr]]:
    """Yield the parameter values of each row of the test's only table, or one empty row if they are unknown."""
    tables = [item for item in test.node.decorator_list if _is_parametrize(item)]
    table = tables[0] if len(tables) == 1 else None
    values = _get_argument(table, 1, "argvalues") if isinstance(table, ast.Call) else None
    if not isinstance(table, ast.Call) or not isinstance(values, ast.List | ast.Tuple):
        yield {}
        return
    names = _read_parameter_names(table)
    for row in values.elts[:MAX_ROWS]:
        cells = [row]
        if isinstance(row, ast.Call) and get_dotted_name(row.func).endswith("param"):
            cells = row.args
        elif isinstance(row, ast.Tuple | ast.List) and len(names) > 1:
            cells = row.elts
        if len(cells) == len(names):
            yield dict(zip(names, cells, strict=True))


def _is_parametrize(node: ast.expr) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and get_dotted_name(node.func).endswith("parametrize")


def _get_argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    named = [each.value for each in call.keywords if each.arg == name]
    return next(iter([*call.args[position : position + 1], *named]), None)


def _read_parameter_names(table: ast.Call) -> list[str]:
    node = _get_argument(table, 0, "argnames")
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [each.strip() for each in node.value.split(",")]
    listed = node.elts if isinstance(node, ast.Tuple | ast.List) else []
    return [str(each.value) for each in listed if isinstance(each, ast.Constant)]


class _FileContext:
    """The information shared by all tests of a module."""

    def __init__(self, module: TestModule) -> None:
        body = module.tree.body
        self.path = module.path
        self.imports = collect_imports(body)
        self.imported = frozenset(self.imports.values())
        self.helpers = {node.name: node for node in body if isinstance(node, FunctionNode)}
        self.constants = {
            node.targets[0].id: node.value
            for node in body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _is_literal(node.value)
        }
        setup_names = {name.lower() for name in self.helpers} & {"setup_module", "setup_function", "setup"}
        has_autouse = any("autouse" in ast.dump(helper) for helper in self.helpers.values() if helper.decorator_list)
        self.is_isolated = not setup_names and not has_autouse and all(_has_no_side_effect(node) for node in body)
        self._budget = MAX_FILE_NODES

    def may_use(self, test: DeclaredTest, names: frozenset[str]) -> bool:
        """Return whether the test mentions one of these names, under any alias, or a helper that may use it."""
        aliases = {alias for alias, full in self.imports.items() if full.rpartition(".")[2] in names}
        wanted = names | aliases | self.helpers.keys()
        return any(
            each.id in wanted if isinstance(each, ast.Name) else isinstance(each, ast.Attribute) and each.attr in names
            for each in ast.walk(test.node)
        )

    def spend(self, parts: int) -> None:
        self._budget -= parts
        if self._budget < 0:
            raise _TooLarge


class _ExampleReader:
    """Reads the examples of one test."""

    def __init__(self, file: _FileContext, test: DeclaredTest) -> None:
        self._file, self._test = file, test
        self.row, self.first = 0, True
        self._helper_stack: list[str] = []  # helpers being inlined, innermost last

    @property
    def is_isolated(self) -> bool:
        """Whether the test depends only on table rows, without fixtures, setup or effects at import."""
        decorators, owners = self._test.node.decorator_list, self._test.owners
        given = {argument.arg for argument in self._test.node.args.args} - {"self"}
        rows = {name for item in decorators if _is_parametrize(item) for name in _read_parameter_names(item)}
        others = [item for item in decorators if not _is_parametrize(item)]
        others += [item for owner in owners for item in owner.decorator_list]
        inherited = [base for owner in owners for base in owner.bases]
        members = {item.name for owner in owners for item in owner.body if isinstance(item, FunctionNode)}
        return (
            self._file.is_isolated
            and given <= rows
            and not others
            and all(get_dotted_name(base).rpartition(".")[2] == "TestCase" for base in inherited)
            and not any(name.lower().startswith("setup") or "fixture" in name for name in members)
        )

    def read_body(self, body: list[ast.stmt], bindings: Bindings, depth: int) -> Iterator[CallExample]:
        names = dict(bindings)
        result_variables: dict[str, str] = {}
        for statement in body:
            changed = [name for name in result_variables if may_change(statement, {name})]
            if isinstance(statement, ast.Assign) and (parts := self._unpack(statement, names)):
                names.update(parts)
            elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                name = statement.targets[0].id
                names[name] = self._resolve(statement.value, names)
                result_variables[name] = f"{name}@{statement.lineno}"
                if not _is_literal(names[name]) and self._call_key(names[name]) is None:
                    self.first = False
            elif (pair := _find_compared_sides(statement)) is not None:
                yield from self._make_examples(statement, pair, names, result_variables)
            elif (called := self._find_called_helper(statement)) is not None and depth < MAX_HELPER_DEPTH:
                helper, call = called
                arguments = [self._resolve(each, names) for each in call.args]
                named = {each.arg: self._resolve(each.value, names) for each in call.keywords if each.arg}
                yield from self.read_body(helper.body, _bind_arguments(helper, arguments, named), depth + 1)
            elif not isinstance(statement, ast.Import | ast.ImportFrom | ast.Pass | ast.Assert):
                self.first = self.first and _is_docstring(statement)
            # From here on, the variable may have another value.
            result_variables.update((name, f"{name}@{statement.lineno}") for name in changed)

    def _unpack(self, statement: ast.Assign, names: Bindings) -> dict[str, ast.expr]:
        """Return the names that an unpacking such as `celsius, kelvin = row` binds."""
        target, value = statement.targets[0], self._resolve(statement.value, names)
        if not isinstance(target, ast.Tuple | ast.List) or not isinstance(value, ast.Tuple | ast.List):
            return {}
        parts = [each.id for each in target.elts if isinstance(each, ast.Name)]
        return dict(zip(parts, value.elts, strict=True)) if len(parts) == len(target.elts) == len(value.elts) else {}

    def _make_examples(
        self, statement: ast.stmt, pair: tuple[ast.expr, ast.expr], names: Bindings, result_variables: Mapping[str, str]
    ) -> Iterator[CallExample]:
        for side, other in (pair, pair[::-1]):
            call, expected = self._resolve(side, names), self._resolve(other, names)
            key = self._call_key(call)
            if key is None or not _is_literal(expected):
                continue
            name, arguments = _split_call(call)
            yield CallExample(
                test=self._test.id,
                row=self.row,
                path=self._file.path,
                line=statement.lineno,
                call=key,
                expected=repr(ast.literal_eval(expected)),
                value=result_variables.get(get_dotted_name(side), ""),
                first=self.first,
                function=name,
                arguments=arguments,
            )
            self.first = False
            return

    def _find_called_helper(self, statement: ast.stmt) -> tuple[FunctionNode, ast.Call] | None:
        call = statement.value if isinstance(statement, ast.Expr) else None
        helper = self._file.helpers.get(get_dotted_name(call.func)) if isinstance(call, ast.Call) else None
        return (helper, call) if helper is not None and isinstance(call, ast.Call) else None

    def _resolve(self, node: ast.expr, names: Bindings) -> ast.expr:
        """Replace names with their values where these are known."""
        resolved: ast.expr = _NameResolver(self, names).visit(copy.deepcopy(node))
        size = sum(1 for _ in islice(ast.walk(resolved), MAX_EXPRESSION_NODES + 1))
        self._file.spend(size)
        return resolved if size <= MAX_EXPRESSION_NODES else node

    def look_up(self, name: str, names: Bindings) -> ast.expr | None:
        """Return the value of a name.

        It is not copied, because resolved expressions are never changed and may be large.
        """
        if name in names:
            return names[name]
        if name in self._file.constants:
            return self._file.constants[name]
        if name in self._file.imports:
            return ast.Name(self._file.imports[name], ast.Load())
        return None

    def inline_helper(self, call: ast.Call) -> ast.expr | None:
        """Return the value of a call to a helper with a single `return` statement.

        Its arguments must be resolved already.
        """
        helper = self._file.helpers.get(get_dotted_name(call.func))
        if helper is None or len(helper.body) != 1 or not isinstance(helper.body[0], ast.Return):
            return None
        value = helper.body[0].value
        if value is None or helper.name in self._helper_stack or len(self._helper_stack) >= MAX_HELPER_DEPTH:
            return None
        given = _bind_arguments(helper, call.args, {each.arg: each.value for each in call.keywords if each.arg})
        self._helper_stack.append(helper.name)
        try:
            return self._resolve(value, given)
        finally:
            self._helper_stack.pop()

    def _call_key(self, node: ast.expr) -> str | None:
        """Return the call as text if it calls an imported function and every name in it is resolved."""
        if not any(isinstance(each, ast.Call) for each in ast.walk(node)):
            return None
        roots = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        imported = roots & self._file.imported
        is_closed = all(name in imported or hasattr(builtins, name) for name in roots)
        return unparse_node(node) if imported and is_closed else None


def _bind_arguments(helper: FunctionNode, args: list[ast.expr], named: Bindings) -> dict[str, ast.expr]:
    parameters = [argument.arg for argument in helper.args.args]
    return {**dict(zip(parameters, args, strict=False)), **named}


class _NameResolver(ast.NodeTransformer):
    """Replaces names with their values and inlines simple helpers."""

    def __init__(self, reader: _ExampleReader, names: Bindings) -> None:
        self._reader, self._names = reader, names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        found = self._reader.look_up(node.id, self._names)
        return node if found is None else found

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Resolve inner calls first, so that arguments are resolved only once."""
        self.generic_visit(node)
        return self._reader.inline_helper(node) or node


def _find_compared_sides(statement: ast.stmt) -> tuple[ast.expr, ast.expr] | None:
    if isinstance(statement, ast.Assert) and isinstance(statement.test, ast.Compare):
        compare = statement.test
        sides = compare.left, compare.comparators[0]
        same = isinstance(compare.ops[0], ast.Is) and any(isinstance(side, ast.Constant) for side in sides)
        if len(compare.ops) == 1 and (same or isinstance(compare.ops[0], ast.Eq)):
            return sides
    call = statement.value if isinstance(statement, ast.Expr) else None
    if (
        isinstance(call, ast.Call)
        and len(call.args) >= 2
        and get_dotted_name(call.func).rpartition(".")[2] in _EQUALITY_ASSERTIONS
    ):
        return call.args[0], call.args[1]
    return None


def _split_call(node: ast.expr) -> tuple[str, tuple[str, ...]]:
    """Return the name and arguments of a call with literal arguments, such as `shop.price.net(10, rate=2)`.

    Both are empty for anything else.
    """
    if not isinstance(node, ast.Call) or not (name := get_dotted_name(node.func)):
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


def _has_no_side_effect(node: ast.stmt) -> bool:
    """Return whether the statement only defines, imports or binds a name."""
    if isinstance(node, ast.Assign):
        return all(isinstance(each, ast.Name) and each.id != "pytestmark" for each in node.targets)
    kinds = FunctionNode | ast.ClassDef | ast.Import | ast.ImportFrom | ast.AnnAssign | ast.If
    return isinstance(node, kinds) or _is_docstring(node)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
