"""Find oracle files: data files with which tests compare results. They are locked like the tests, wherever they are.

A data file is an oracle if a function of the tests refers to it and also calls the project, and if no source mentions
it. A file that the code reads is part of the code, and a test that only reads a file is a test of that file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from prd2pr.languages.python.test_model.module import FunctionNode, collect_imports, get_dotted_name, parse_python
from prd2pr.languages.python.test_naming import DEFAULT_NAMING, TestNaming


def find_oracle_files(
    paths: Iterable[str],
    tests: Mapping[str, str],
    sources: Iterable[str],
    project: frozenset[str],
    naming: TestNaming = DEFAULT_NAMING,
) -> tuple[str, ...]:
    """Return the data files in `paths` with which tests compare the project's results."""
    wanted = {path: PurePosixPath(path).name for path in paths}
    if not wanted:
        return ()
    read = {text for source in sources for text in _list_strings(parse_python(source))}
    free = {path: name for path, name in wanted.items() if not any(_names_file(text, name) for text in read)}
    used = {
        name
        for path, text in tests.items()
        if any(name in text for name in free.values())
        for name in _find_oracle_names(path, text, set(free.values()), project, naming)
    }
    return tuple(sorted(path for path, name in free.items() if name in used))


def _find_oracle_names(
    path: str, text: str, names: set[str], project: frozenset[str], naming: TestNaming
) -> Iterator[str]:
    tree = parse_python(text)
    if tree is None:
        return
    ours = {name for name, full in collect_imports(tree.body).items() if full.partition(".")[0] in project}
    for part in _list_parts(tree):
        found = {name for each in _list_strings(part) for name in names if _names_file(each, name)}
        known = isinstance(part, FunctionNode) and (
            naming.is_function(part.name) or DEFAULT_NAMING.is_function(part.name)
        )
        module = naming.is_module(path)
        if found and (_uses_any(part, ours) if known and module else ours or not module):
            yield from found


def _list_parts(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the functions and methods, and the statements between them."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from node.body
        else:
            yield node


def _uses_any(node: ast.AST, names: set[str]) -> bool:
    return any(
        get_dotted_name(each).partition(".")[0] in names for each in ast.walk(node) if isinstance(each, ast.Name)
    )


def _list_strings(tree: ast.AST | None) -> Iterator[str]:
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _names_file(text: str, name: str) -> bool:
    return text == name or text.endswith(f"/{name}")
