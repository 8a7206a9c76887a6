"""Finds the places for mutants: code that tests can execute and that affects behavior."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from prd2pr.languages.python.mutation.functions import has_behavior, is_untested_block
from prd2pr.languages.python.mutation.operators import IGNORED_KEYWORDS, Mutation, mutate_node
from prd2pr.languages.python.source_text import SourceText, get_body_without_docstring
from prd2pr.languages.python.test_model.module import FunctionNode, get_dotted_name

# Calls that only produce output for people.
LOGGING_CALLS = frozenset({"print", "warn", "debug", "info", "warning", "error", "exception", "critical", "log"})
LOGGERS = frozenset({"log", "logger", "logging", "warnings", "_log", "_logger", "LOG", "LOGGER"})


@dataclass(frozen=True)
class MutationSite:
    """The location of a mutant. `on_import` is true if the code runs when the module is imported."""

    statement: ast.stmt
    top: ast.stmt
    function: str = ""
    on_import: bool = True


def find_mutants(text: SourceText) -> Iterator[tuple[MutationSite, Mutation]]:
    """Yield all mutants of a file with their locations."""
    for top in text.tree.body:
        yield from _mutate_statement(text, top, MutationSite(top, top))


def _mutate_statement(text: SourceText, node: ast.stmt, site: MutationSite) -> Iterator[tuple[MutationSite, Mutation]]:
    site = replace(site, statement=node)
    if isinstance(node, FunctionNode):
        yield from _mutate_function(text, node, site)
    elif isinstance(node, ast.ClassDef):
        inner = replace(site, function=_join_name(site.function, node.name), on_import=site.on_import)
        for statement in node.body:
            yield from _mutate_statement(text, statement, inner)
    elif not _is_skipped(node):
        for change in mutate_node(text, node):
            yield site, change
        if not isinstance(node, ast.Raise | ast.Assert):
            yield from _mutate_children(text, node, site)


def _mutate_function(
    text: SourceText, node: FunctionNode, site: MutationSite
) -> Iterator[tuple[MutationSite, Mutation]]:
    if not has_behavior(node):
        return
    inner = replace(site, function=_join_name(site.function, node.name), on_import=False)
    for statement in get_body_without_docstring(node):
        yield from _mutate_statement(text, statement, inner)


def _join_name(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _is_skipped(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) or _is_logging_call(node.value)
    if isinstance(node, ast.Assign):
        return all(get_dotted_name(target).startswith("__") for target in node.targets)  # `__all__`, `__slots__`
    return isinstance(node, ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal) or is_untested_block(node)


def _is_logging_call(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    owner, _, name = get_dotted_name(node.func).rpartition(".")
    return name in LOGGING_CALLS and (not owner or owner.split(".")[-1] in LOGGERS)


def _mutate_children(text: SourceText, node: ast.AST, site: MutationSite) -> Iterator[tuple[MutationSite, Mutation]]:
    for name, value in ast.iter_fields(node):
        if name == "annotation":
            continue
        for child in value if isinstance(value, list) else [value]:
            yield from _mutate_child(text, child, site)


def _mutate_child(text: SourceText, child: object, site: MutationSite) -> Iterator[tuple[MutationSite, Mutation]]:
    if isinstance(child, ast.stmt):
        yield from _mutate_statement(text, child, site)
    elif isinstance(child, ast.keyword):
        if child.arg not in IGNORED_KEYWORDS:
            yield from _mutate_expression(text, child.value, site)
    elif isinstance(child, ast.expr):
        yield from _mutate_expression(text, child, site)
    elif isinstance(child, ast.ExceptHandler | ast.match_case):
        for statement in child.body:
            yield from _mutate_statement(text, statement, site)
    elif isinstance(child, ast.comprehension | ast.withitem | ast.Slice):
        for change in mutate_node(text, child):
            yield site, change
        yield from _mutate_children(text, child, site)


def _mutate_expression(text: SourceText, node: ast.expr, site: MutationSite) -> Iterator[tuple[MutationSite, Mutation]]:
    """Yield the mutants of an expression.

    F-strings are skipped, because positions inside them vary by Python version.
    """
    if isinstance(node, ast.JoinedStr) or _is_logging_call(node):
        return
    for change in mutate_node(text, node):
        yield site, change
    yield from _mutate_children(text, node, site)
