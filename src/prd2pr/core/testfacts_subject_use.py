"""What the tests do with the subject, for judging why they fail: the names they call, the lines that work on it."""

from __future__ import annotations

import ast

from prd2pr.core.testfacts_live import bindings
from prd2pr.core.testfacts_model import (
    FactContext,
    dotted,
    imports_of,
    is_test_module,
    judged_tests,
    parse_tests,
    resolve,
)
from prd2pr.core.testfacts_scope import TestScope, scopes
from prd2pr.core.testfacts_suite import Suite

# Fixtures of pytest through which a test sees what the subject did.
_WITNESSES = frozenset({"capsys", "capfd", "capsysbinary", "capfdbinary", "caplog", "tmp_path", "tmpdir", "recwarn"})


def called_names(path: str, source: str) -> tuple[str, ...]:
    """Full dotted names of imported things that a test module or one of its helpers calls or reads from."""
    module = parse_tests(path, source)
    if module is None:
        return ()
    imports = imports_of(module.tree.body)
    names: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in imports:
            names.add(imports[node.id])
        elif isinstance(node, ast.Attribute) and (name := dotted(node)).partition(".")[0] in imports:
            names.add(resolve(name, imports))
        elif isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            names.add(f"{node.module}.*")
    return tuple(sorted(names))


def subject_lines(path: str, source: str, context: FactContext) -> tuple[int, ...]:
    """Lines of the new tests on which the subject, or a value that came from it, is at work."""
    module = parse_tests(path, source) if is_test_module(path) else None
    if module is None:
        return ()
    lines: set[int] = set()
    for scope in scopes(Suite(module, context), judged_tests(module, context)):
        names = _subject_values(scope)
        for function in scope.reach:
            for node in ast.walk(function):
                if isinstance(node, ast.expr) and _works_on_subject(node, scope, names):
                    lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return tuple(sorted(lines))


def _subject_values(scope: TestScope) -> frozenset[str]:
    """Names that hold what the subject gave, or what it was handed."""
    known = frozenset({*scope.unknown_fixtures, *scope.used_fixtures, "self"}) | _WITNESSES
    while True:
        found = set(known)
        for node in (inner for function in scope.reach for inner in ast.walk(function)):
            found |= {name for name, value in bindings(node) if _works_on_subject(value, scope, known)}
            if isinstance(node, ast.Call) and _works_on_subject(node.func, scope, known):
                handed = [*node.args, *(keyword.value for keyword in node.keywords)]
                found |= {x.id for value in handed for x in ast.walk(value) if isinstance(x, ast.Name)} - set(
                    scope.imports
                )
        if found == known:
            return known
        known = frozenset(found)


def _works_on_subject(node: ast.AST, scope: TestScope, names: frozenset[str]) -> bool:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and (inner.id in names or scope.is_subject(inner.id)):
            return True
        if isinstance(inner, ast.Call) and scope.helpers.get(dotted(inner.func)) in scope.reach:
            return True
    return False
