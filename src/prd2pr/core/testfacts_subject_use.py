"""What the tests do with the subject, for judging why they fail: the names they call, the lines that work on it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set

from prd2pr.core.testfacts_live import bindings
from prd2pr.core.testfacts_model import (
    FactContext,
    absolute_module,
    dotted,
    judged_tests,
    parse_tests,
    resolve,
)
from prd2pr.core.testfacts_programs import starts_subject
from prd2pr.core.testfacts_scope import TestScope, scopes
from prd2pr.core.testfacts_suite import Suite, SuiteFile

# Fixtures of pytest through which a test sees what the subject did.
_WITNESSES = frozenset({"capsys", "capfd", "capsysbinary", "capfdbinary", "caplog", "tmp_path", "tmpdir", "recwarn"})


def called_names(path: str, source: str) -> tuple[str, ...]:
    """Full dotted names of imported things that a test module or one of its helpers calls or reads from.

    What is asked of any other object stands there as `.name`.
    """
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
            name = dotted(node)
            names.add(resolve(name, imports) if name.partition(".")[0] in imports else f".{node.attr}")
        elif isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            names.add(f"{absolute_module(node, file.package)}.*")
    return tuple(sorted(names))


def subject_lines(path: str, source: str, context: FactContext) -> tuple[int, ...]:
    """Lines of the new tests on which the subject, or a value that came from it, is at work."""
    naming = context.naming
    module = parse_tests(path, source, naming) if naming.is_module(path) else None
    if module is None:
        return ()
    lines: set[int] = set()
    for scope in scopes(Suite(module, context), judged_tests(module, context)):
        names = _subject_values(scope)
        for function in scope.reach:
            for node in ast.walk(function):
                if isinstance(node, ast.expr) and _works_on_subject(node, scope, names):
                    lines.update(_lines(node))
            told = {id(x) for place in ast.walk(function) for x in _led_by_subject(place, scope, names)}
            for call in (node for node in ast.walk(function) if _is_failing(node)):
                (lines.update if id(call) in told else lines.difference_update)(_lines(call))
    return tuple(sorted(lines))


def _lines(node: ast.AST) -> range:
    first = getattr(node, "lineno", 0)
    return range(first, (getattr(node, "end_lineno", None) or first) + 1)


def _is_failing(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] == "fail"


def _led_by_subject(node: ast.AST, scope: TestScope, names: frozenset[str]) -> Iterator[ast.AST]:
    """Calls of `fail` to which only something leads that the subject did or did not do.

    `try: divide(1, 0)` with `pytest.fail()` as its last line or in its `else`; `if total(cart) != 5: pytest.fail()`.
    A failure for being what it is (`if total(cart) == 0`) asks for nothing that could be built.
    """
    if isinstance(node, ast.Try) and node.handlers:
        *first, last = node.body
        if any(_works_on_subject(line, scope, names) for line in first or [last]):
            yield from ast.walk(last)
            yield from (x for line in (*node.orelse, *node.handlers) for x in ast.walk(line))
    elif isinstance(node, ast.If) and _asks_for_a_value(node.test) and _works_on_subject(node.test, scope, names):
        yield from (x for line in node.body for x in ast.walk(line))


def _asks_for_a_value(test: ast.expr) -> bool:
    """`got != 5`, `"x" not in got`: it fails unless the answer is the one."""
    wanted = isinstance(test, ast.Compare) and all(isinstance(op, ast.NotEq | ast.NotIn) for op in test.ops)
    return wanted or (isinstance(test, ast.BoolOp) and all(map(_asks_for_a_value, test.values)))


def _subject_values(scope: TestScope) -> frozenset[str]:
    """Names that hold what the subject gave, or what it was handed."""
    known = {*scope.unknown_fixtures, *scope.used_fixtures, "self", *_WITNESSES}
    nodes, imported = [inner for function in scope.reach for inner in ast.walk(function)], set(scope.imports)
    before = 0
    while len(known) != before:
        before = len(known)
        for node in nodes:
            known |= {name for name, value in bindings(node) if _works_on_subject(value, scope, known)}
            if isinstance(node, ast.With | ast.AsyncWith) and _works_on_subject(node, scope, known):
                known |= {name for item in node.items for name, _ in bindings(item)}  # what was recorded meanwhile
            if isinstance(node, ast.Call) and _works_on_subject(node.func, scope, known):
                handed = [*node.args, *(keyword.value for keyword in node.keywords)]
                known |= {x.id for value in handed for x in ast.walk(value) if isinstance(x, ast.Name)} - imported
    return frozenset(known)


def _works_on_subject(node: ast.AST, scope: TestScope, names: Set[str]) -> bool:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and (inner.id in names or scope.is_subject(inner.id)):
            return True
        if isinstance(inner, ast.Call) and (
            scope.helpers.get(dotted(inner.func)) in scope.reach or starts_subject(inner, scope)
        ):
            return True
    return False
