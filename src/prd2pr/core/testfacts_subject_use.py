"""What the tests do with the subject, for judging why they fail: the names they call, the lines that work on it."""

from __future__ import annotations

import ast

from prd2pr.core.testfacts_live import liveness
from prd2pr.core.testfacts_model import (
    FactContext,
    dotted,
    imports_of,
    is_test_module,
    judged_tests,
    parse_tests,
    resolve,
)
from prd2pr.core.testfacts_scope import scopes


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
    """Lines of the new tests on which a value is at work that came from the subject, or may have."""
    module = parse_tests(path, source) if is_test_module(path) else None
    if module is None:
        return ()
    lines: set[int] = set()
    for scope in scopes(module, judged_tests(module, context), context):
        live = liveness(scope)
        for function in scope.reach:
            for node in ast.walk(function):
                if isinstance(node, ast.expr) and live.is_live(node):
                    lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return tuple(sorted(lines))
