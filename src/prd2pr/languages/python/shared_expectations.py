"""Finds tests whose expected values are in changed sample files or shared literals.

Such expected values change together with the behavior, and the tests that depend on them count as rewritten.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from prd2pr.languages.python.definitions import collect_definitions, is_compatible_extension
from prd2pr.languages.python.test_model.module import parse_python, parse_tests
from prd2pr.languages.python.test_naming import DEFAULT_NAMING, TestNaming

_LITERAL_NODES = (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.UnaryOp, ast.USub, ast.Load)


def find_dependent_tests(
    before: Mapping[str, str], after: Mapping[str, str], samples: Iterable[str], naming: TestNaming = DEFAULT_NAMING
) -> frozenset[str]:
    """Return the ids, without parameters, of the tests that a changed sample or value affects.

    `before` and `after` map all Python files of the tests to their contents. `samples` lists the changed files that are
    not Python.
    """
    values = {
        name for path in after if path in before for name in find_changed_values(before[path], after[path], naming)
    }
    words = {word for path in samples for word in _list_file_words(path)}
    shared = [text for path, text in after.items() if not naming.is_module(path)]
    affects_all = any(_mentions_any(text, words) for text in shared)
    found: set[str] = set()
    for path, text in after.items():
        if naming.is_module(path) and (words or values):
            affected = affects_all or _mentions_any(text, words)
            found |= {test for test, names in _list_names_by_test(path, text, naming) if affected or names & values}
    return frozenset(found)


def find_changed_values(before: str, after: str, naming: TestNaming = DEFAULT_NAMING) -> Iterator[str]:
    """Yield the names that were bound to one literal before and are bound to a different one now."""
    old, new = parse_python(before), parse_python(after)
    if old is None or new is None or before == after:
        return
    later = collect_definitions(new.body, naming)
    for name, old_definitions in collect_definitions(old.body, naming).items():
        new_definitions = later.get(name, [])
        literals = (
            len(old_definitions) == len(new_definitions) == 1
            and _is_literal(old_definitions[0].value)
            and _is_literal(new_definitions[0].value)
        )
        if literals and not is_compatible_extension(old_definitions[0].value, new_definitions[0].value):
            yield name


def find_tests_using(texts: Mapping[str, str], name: str, naming: TestNaming = DEFAULT_NAMING) -> frozenset[str] | None:
    """Return the tests that use the name directly, or None if other code uses it too."""
    found: set[str] = set()
    for path, text in texts.items():
        module = parse_tests(path, text, naming)
        if module is None:
            continue
        test_of_node = {id(inner): test.id for test in module.tests for inner in ast.walk(test.node)}
        for node in ast.walk(module.tree):
            used = (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id == name) or (
                isinstance(node, ast.Attribute) and node.attr == name
            )
            if used and id(node) not in test_of_node:
                return None
            if used:
                found.add(test_of_node[id(node)])
    return frozenset(found)


def _is_literal(value: object) -> bool:
    return isinstance(value, ast.expr) and all(isinstance(inner, _LITERAL_NODES) for inner in ast.walk(value))


def _list_file_words(path: str) -> Iterator[str]:
    name = PurePosixPath(path)
    yield from (name.name, name.stem, name.parent.name)


def _mentions_any(text: str, words: set[str]) -> bool:
    tree = parse_python(text)
    strings = (
        [x.value for x in ast.walk(tree) if isinstance(x, ast.Constant) and isinstance(x.value, str)] if tree else []
    )
    return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", string) for word in words if word for string in strings)


def _list_names_by_test(path: str, text: str, naming: TestNaming) -> Iterator[tuple[str, set[str]]]:
    """Yield the id of each test with the names that it mentions."""
    module = parse_tests(path, text, naming)
    for test in module.tests if module else ():
        nodes = list(ast.walk(test.node))
        yield (
            test.id,
            {x.id for x in nodes if isinstance(x, ast.Name)} | {x.attr for x in nodes if isinstance(x, ast.Attribute)},
        )
