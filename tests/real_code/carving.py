"""Carve honest cycles out of a package with its own tests.

A cycle leaves out one function and the tests that use it. RED restores the tests and GREEN restores the function.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
MAX_TESTS = 40  # tests of one cycle
MIN_STATEMENTS = 2  # a shorter function is hardly a story


@dataclass(frozen=True)
class Cycle:
    """The files that differ from the complete package. Paths are relative to its root."""

    name: str
    tests: tuple[str, ...]  # ids of the restored tests, without parameters
    without_source: Mapping[str, str]
    without_tests: Mapping[str, str]


def carve(sources: Mapping[str, str], tests: Mapping[str, str], most: int) -> Iterator[Cycle]:
    """Yield up to `most` candidates, spread over the modules. The caller checks them with plain pytest."""
    parsed = {path: tree for path, text in tests.items() if (tree := _parse(text))}
    by_module = [list(_carve_module(path, sources, tests, parsed)) for path in sorted(sources)]
    taken = 0
    while taken < most and any(by_module):
        for left in by_module:
            if left and taken < most:
                yield left.pop(0)
                taken += 1


def _parse(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _carve_module(
    path: str, sources: Mapping[str, str], tests: Mapping[str, str], parsed: Mapping[str, ast.Module]
) -> Iterator[Cycle]:
    tree = _parse(sources[path])
    for owner, node in _list_functions(tree) if tree else ():
        if len(node.body) < MIN_STATEMENTS and not isinstance(node.body[0], ast.If | ast.For | ast.While | ast.Try):
            continue
        lines = _cut(sources[path], [(*_span(node), _filler(owner, node))])
        if _parse(lines) is None:
            continue
        without = {path: lines}
        top = not isinstance(owner, ast.ClassDef)
        for other, text in sources.items():
            changed = _drop_exports(without.get(other, text), node.name) if top else without.get(other, text)
            if changed != text:
                without[other] = changed
        trimmed: dict[str, str] = {}
        names: list[str] = []
        for test_path, test_tree in parsed.items():
            found = list(_find_using_tests(test_tree, node.name))
            if not found:
                continue
            cut = _cut(tests[test_path], [(*_span(each), _filler(parent, each)) for parent, each in found])
            trimmed[test_path] = _drop_exports(cut, node.name) if top else cut
            for parent, each in found:
                scope = f"{parent.name}::" if isinstance(parent, ast.ClassDef) else ""
                names.append(f"{test_path}::{scope}{each.name}")
        if 0 < len(names) <= MAX_TESTS and not any(_mentions(text, node.name) for text in trimmed.values()):
            qualified = node.name if top else f"{owner.name}.{node.name}"  # type: ignore[union-attr]
            yield Cycle(f"{path}:{qualified}", tuple(names), without, trimmed)


def _list_functions(tree: ast.Module) -> Iterator[tuple[ast.AST, FunctionNode]]:
    for node in tree.body:
        if isinstance(node, FunctionNode) and not node.name.startswith("_"):
            yield tree, node
        elif isinstance(node, ast.ClassDef):
            counts: dict[str, int] = {}
            methods = [each for each in node.body if isinstance(each, FunctionNode) and not each.name.startswith("_")]
            for each in methods:
                counts[each.name] = counts.get(each.name, 0) + 1
            yield from ((node, each) for each in methods if counts[each.name] == 1)


def _find_using_tests(tree: ast.Module, name: str) -> Iterator[tuple[ast.AST, FunctionNode]]:
    for owner in (tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))):
        for node in owner.body:
            if isinstance(node, FunctionNode) and node.name.startswith("test") and _uses(node, name):
                yield owner, node


def _uses(node: ast.AST, name: str) -> bool:
    return any(
        (isinstance(each, ast.Name) and each.id == name) or (isinstance(each, ast.Attribute) and each.attr == name)
        for each in ast.walk(node)
    )


def _mentions(text: str, name: str) -> bool:
    tree = _parse(text)
    return tree is None or any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(tree))


def _span(node: FunctionNode) -> tuple[int, int]:
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    return first, node.end_lineno or node.lineno


def _filler(owner: ast.AST, node: FunctionNode) -> str:
    """Return `pass` for the only statement of a class."""
    body = owner.body if isinstance(owner, ast.ClassDef) else []
    is_only = len([each for each in body if not _is_docstring(each)]) == 1
    return f"{' ' * node.col_offset}pass\n" if is_only else ""


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _cut(text: str, spans: Iterable[tuple[int, int, str]]) -> str:
    lines = text.splitlines(keepends=True)
    for first, last, filler in sorted(spans, reverse=True):
        lines[first - 1 : last] = [filler] if filler else []
    return "".join(lines)


def _drop_exports(text: str, name: str) -> str:
    """Remove the name from imports and from `__all__`."""
    tree = _parse(text) if re.search(rf"\b{re.escape(name)}\b", text) else None
    cuts: list[tuple[int, int, str]] = []
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.ImportFrom) and any(each.name == name for each in node.names):
            kept = [each for each in node.names if each.name != name]
            rest = ast.unparse(ast.ImportFrom(node.module, kept, node.level)) if kept else "pass"
            cuts.append((node.lineno, node.end_lineno or node.lineno, f"{' ' * node.col_offset}{rest}\n"))
        elif _is_all(node):
            assert isinstance(node, ast.Assign) and isinstance(node.value, ast.List | ast.Tuple)
            kept_items = [
                each for each in node.value.elts if not (isinstance(each, ast.Constant) and each.value == name)
            ]
            if len(kept_items) < len(node.value.elts):
                written = ast.unparse(ast.List(kept_items, ast.Load()))
                cuts.append((node.lineno, node.end_lineno or node.lineno, f"__all__ = {written}\n"))
    return _cut(text, cuts)


def _is_all(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == "__all__"
        and isinstance(node.value, ast.List | ast.Tuple)
    )
