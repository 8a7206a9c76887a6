"""Where faults make sense: code that tests can run and whose working somebody depends on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from prd2pr.core.bite.functions import does_something, is_left_out
from prd2pr.core.bite.operators import UNREAD_KEYWORDS, Change, changes_in
from prd2pr.core.bite.text import SourceText, body_without_docstring
from prd2pr.core.testfacts_model import FunctionNode, dotted

# Calls that only tell people something.
TELLING = frozenset({"print", "warn", "debug", "info", "warning", "error", "exception", "critical", "log"})
TELLERS = frozenset({"log", "logger", "logging", "warnings", "_log", "_logger", "LOG", "LOGGER"})


@dataclass(frozen=True)
class Site:
    """Where a fault stands. `on_import`: the code runs when the module is imported, not when a function is called."""

    statement: ast.stmt
    top: ast.stmt
    function: str = ""
    on_import: bool = True


def mutants_in(text: SourceText) -> Iterator[tuple[Site, Change]]:
    for top in text.tree.body:
        yield from _statement(text, top, Site(top, top))


def _statement(text: SourceText, node: ast.stmt, site: Site) -> Iterator[tuple[Site, Change]]:
    site = replace(site, statement=node)
    if isinstance(node, FunctionNode):
        yield from _function(text, node, site)
    elif isinstance(node, ast.ClassDef):
        inner = replace(site, function=_joined(site.function, node.name), on_import=site.on_import)
        for statement in node.body:
            yield from _statement(text, statement, inner)
    elif not _is_passed_over(node):
        for change in changes_in(text, node):
            yield site, change
        if not isinstance(node, ast.Raise | ast.Assert):
            yield from _children(text, node, site)


def _function(text: SourceText, node: FunctionNode, site: Site) -> Iterator[tuple[Site, Change]]:
    if not does_something(node):
        return
    inner = replace(site, function=_joined(site.function, node.name), on_import=False)
    for statement in body_without_docstring(node):
        yield from _statement(text, statement, inner)


def _joined(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _is_passed_over(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) or _only_tells(node.value)
    if isinstance(node, ast.Assign):
        return all(dotted(target).startswith("__") for target in node.targets)  # `__all__`, `__slots__`
    return isinstance(node, ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal) or is_left_out(node)


def _only_tells(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    owner, _, name = dotted(node.func).rpartition(".")
    return name in TELLING and (not owner or owner.split(".")[-1] in TELLERS)


def _children(text: SourceText, node: ast.AST, site: Site) -> Iterator[tuple[Site, Change]]:
    for name, value in ast.iter_fields(node):
        if name == "annotation":
            continue
        for child in value if isinstance(value, list) else [value]:
            yield from _child(text, child, site)


def _child(text: SourceText, child: object, site: Site) -> Iterator[tuple[Site, Change]]:
    if isinstance(child, ast.stmt):
        yield from _statement(text, child, site)
    elif isinstance(child, ast.keyword):
        if child.arg not in UNREAD_KEYWORDS:
            yield from _expression(text, child.value, site)
    elif isinstance(child, ast.expr):
        yield from _expression(text, child, site)
    elif isinstance(child, ast.ExceptHandler | ast.match_case):
        for statement in child.body:
            yield from _statement(text, statement, site)
    elif isinstance(child, ast.comprehension | ast.withitem | ast.Slice):
        for change in changes_in(text, child):
            yield site, change
        yield from _children(text, child, site)


def _expression(text: SourceText, node: ast.expr, site: Site) -> Iterator[tuple[Site, Change]]:
    """Inside of f-strings, places are not told alike by all versions of Python: they are left alone."""
    if isinstance(node, ast.JoinedStr) or _only_tells(node):
        return
    for change in changes_in(text, node):
        yield site, change
    yield from _children(text, node, site)
