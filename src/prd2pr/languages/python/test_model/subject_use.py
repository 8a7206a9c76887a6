"""Finds the names that tests call and the lines that use the subject, to judge why a test fails."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set

from prd2pr.languages.python.test_model.data_flow import find_bindings
from prd2pr.languages.python.test_model.module import (
    FactContext,
    get_absolute_module,
    get_dotted_name,
    list_judged_tests,
    parse_tests,
    resolve_name,
)
from prd2pr.languages.python.test_model.programs import starts_subject
from prd2pr.languages.python.test_model.scope import TestScope, list_scopes
from prd2pr.languages.python.test_model.suite import Suite, SuiteFile

# pytest fixtures that reveal what the subject did.
_OUTPUT_FIXTURES = frozenset(
    {"capsys", "capfd", "capsysbinary", "capfdbinary", "caplog", "tmp_path", "tmpdir", "recwarn"}
)


def find_called_names(path: str, source: str) -> tuple[str, ...]:
    """Return the full names of the imports that a test module uses, and `.name` for attributes of other objects."""
    module = parse_tests(path, source)
    if module is None:
        return ()
    file = SuiteFile(path, module.tree)
    imports = file.imports
    names: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in imports:
            names.add(imports[node.id])
        elif isinstance(node, ast.Attribute):
            name = get_dotted_name(node)
            names.add(resolve_name(name, imports) if name.partition(".")[0] in imports else f".{node.attr}")
        elif isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            names.add(f"{get_absolute_module(node, file.package)}.*")
    return tuple(sorted(names))


def find_module_subject_lines(path: str, source: str, context: FactContext) -> tuple[int, ...]:
    """Return the lines of the new tests that use the subject or a value derived from it."""
    naming = context.naming
    module = parse_tests(path, source, naming) if naming.is_module(path) else None
    if module is None:
        return ()
    lines: set[int] = set()
    for scope in list_scopes(Suite(module, context), list_judged_tests(module, context)):
        names = _find_subject_values(scope)
        for function in scope.reachable_functions:
            for node in ast.walk(function):
                if isinstance(node, ast.expr) and _works_on_subject(node, scope, names):
                    lines.update(_get_lines(node))
            dependent = {
                id(x) for place in ast.walk(function) for x in _find_fail_calls_on_subject(place, scope, names)
            }
            for call in (node for node in ast.walk(function) if _is_fail_call(node)):
                (lines.update if id(call) in dependent else lines.difference_update)(_get_lines(call))
    return tuple(sorted(lines))


def _get_lines(node: ast.AST) -> range:
    first = getattr(node, "lineno", 0)
    return range(first, (getattr(node, "end_lineno", None) or first) + 1)


def _is_fail_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and get_dotted_name(node.func).rpartition(".")[2] == "fail"


def _find_fail_calls_on_subject(node: ast.AST, scope: TestScope, names: frozenset[str]) -> Iterator[ast.AST]:
    """Yield the nodes under which a call of `fail` depends on the behavior of the subject.

    Examples are `try: divide(1, 0)` with `pytest.fail()` as its last line or in its `else`, and `if total(cart) != 5:
    pytest.fail()`. Failing on a current value (`if total(cart) == 0`) does not require any implementation.
    """
    if isinstance(node, ast.Try) and node.handlers:
        *first, last = node.body
        if any(_works_on_subject(line, scope, names) for line in first or [last]):
            yield from ast.walk(last)
            yield from (x for line in (*node.orelse, *node.handlers) for x in ast.walk(line))
    elif isinstance(node, ast.If) and _requires_value(node.test) and _works_on_subject(node.test, scope, names):
        yield from (x for line in node.body for x in ast.walk(line))


def _requires_value(test: ast.expr) -> bool:
    """Return whether the test fails unless the result has one value, as with `got != 5` or `"x" not in got`."""
    wanted = isinstance(test, ast.Compare) and all(isinstance(op, ast.NotEq | ast.NotIn) for op in test.ops)
    return wanted or (isinstance(test, ast.BoolOp) and all(map(_requires_value, test.values)))


def _find_subject_values(scope: TestScope) -> frozenset[str]:
    """Return the names of values that the subject returned or received."""
    known = {*scope.unknown_fixtures, *scope.used_fixtures, "self", *_OUTPUT_FIXTURES}
    nodes, imported = (
        [inner for function in scope.reachable_functions for inner in ast.walk(function)],
        set(scope.imports),
    )
    before = 0
    while len(known) != before:
        before = len(known)
        for node in nodes:
            known |= {name for name, value in find_bindings(node) if _works_on_subject(value, scope, known)}
            if isinstance(node, ast.With | ast.AsyncWith) and _works_on_subject(node, scope, known):
                known |= {name for item in node.items for name, _ in find_bindings(item)}  # recorded inside the block
            if isinstance(node, ast.Call) and _works_on_subject(node.func, scope, known):
                arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
                known |= {x.id for value in arguments for x in ast.walk(value) if isinstance(x, ast.Name)} - imported
    return frozenset(known)


def _works_on_subject(node: ast.AST, scope: TestScope, names: Set[str]) -> bool:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and (inner.id in names or scope.is_subject(inner.id)):
            return True
        if isinstance(inner, ast.Call) and (
            scope.helpers.get(get_dotted_name(inner.func)) in scope.reachable_functions or starts_subject(inner, scope)
        ):
            return True
    return False
