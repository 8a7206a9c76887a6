"""Files that hold what tests compare with, wherever they lie. They are as locked as the tests are.

A data file is one where a test names it and calls the project in the same breath, and no source mentions it: what the
code itself reads is part of the code, and a test that only looks into a file is about that file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from prd2pr.core.test_naming import USUAL, TestNaming
from prd2pr.core.testfacts_model import FunctionNode, dotted, imports_of, parse


def compared_with(
    paths: Iterable[str],
    tests: Mapping[str, str],
    sources: Iterable[str],
    project: frozenset[str],
    naming: TestNaming = USUAL,
) -> tuple[str, ...]:
    """Of these data files, the ones that tests compare the project's answers with."""
    wanted = {path: PurePosixPath(path).name for path in paths}
    if not wanted:
        return ()
    read = {text for source in sources for text in _texts(parse(source))}
    free = {path: name for path, name in wanted.items() if not any(_names(text, name) for text in read)}
    used = {
        name
        for path, text in tests.items()
        if any(name in text for name in free.values())
        for name in _used_as_oracle(path, text, set(free.values()), project, naming)
    }
    return tuple(sorted(path for path, name in free.items() if name in used))


def _used_as_oracle(
    path: str, text: str, names: set[str], project: frozenset[str], naming: TestNaming
) -> Iterator[str]:
    tree = parse(text)
    if tree is None:
        return
    ours = {name for name, full in imports_of(tree.body).items() if full.partition(".")[0] in project}
    for part in _parts(tree):
        found = {name for each in _texts(part) for name in names if _names(each, name)}
        known = isinstance(part, FunctionNode) and (naming.is_function(part.name) or USUAL.is_function(part.name))
        module = naming.is_module(path)
        if found and (_uses(part, ours) if known and module else ours or not module):
            yield from found


def _parts(tree: ast.Module) -> Iterator[ast.AST]:
    """Functions, also those of classes, and what stands between them."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from node.body
        else:
            yield node


def _uses(node: ast.AST, names: set[str]) -> bool:
    return any(dotted(each).partition(".")[0] in names for each in ast.walk(node) if isinstance(each, ast.Name))


def _texts(tree: ast.AST | None) -> Iterator[str]:
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _names(text: str, name: str) -> bool:
    return text == name or text.endswith(f"/{name}")
