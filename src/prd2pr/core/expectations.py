"""What tests compare with, outside of their own bodies: files with samples, and plain values that tests share.

Where the behaviour is to change, these change with it. The tests that lean on them are then as good as rewritten.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from prd2pr.core.definitions import definitions, has_only_grown
from prd2pr.core.test_naming import USUAL, TestNaming
from prd2pr.core.testfacts_model import parse, parse_tests

_PLAIN = (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.UnaryOp, ast.USub, ast.Load)


def leaning_tests(
    before: Mapping[str, str], after: Mapping[str, str], samples: Iterable[str], naming: TestNaming = USUAL
) -> frozenset[str]:
    """Ids, without parameters, of tests that a changed sample or a changed value reaches.

    `before` and `after`: all Python files of the tests, path -> text. `samples`: changed files that are no Python.
    """
    values = {name for path in after if path in before for name in changed_values(before[path], after[path], naming)}
    words = {word for path in samples for word in _words_for(path)}
    shared = [text for path, text in after.items() if not naming.is_module(path)]
    everywhere = any(_mentions(text, words) for text in shared)
    found: set[str] = set()
    for path, text in after.items():
        if naming.is_module(path) and (words or values):
            reached = everywhere or _mentions(text, words)
            found |= {test for test, names in _tests(path, text, naming) if reached or names & values}
    return frozenset(found)


def changed_values(before: str, after: str, naming: TestNaming = USUAL) -> Iterator[str]:
    """Names that stood for a plain value and stand for another one."""
    old, new = parse(before), parse(after)
    if old is None or new is None or before == after:
        return
    later = definitions(new.body, naming)
    for name, was in definitions(old.body, naming).items():
        now = later.get(name, [])
        plain = len(was) == len(now) == 1 and _is_plain(was[0].value) and _is_plain(now[0].value)
        if plain and not has_only_grown(was[0].value, now[0].value):
            yield name


def users(texts: Mapping[str, str], name: str, naming: TestNaming = USUAL) -> frozenset[str] | None:
    """Tests that use the name themselves; None where something else does as well, and nobody can tell for whom."""
    found: set[str] = set()
    for path, text in texts.items():
        module = parse_tests(path, text, naming)
        if module is None:
            continue
        inside = {id(inner): test.id for test in module.tests for inner in ast.walk(test.node)}
        for node in ast.walk(module.tree):
            used = (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id == name) or (
                isinstance(node, ast.Attribute) and node.attr == name
            )
            if used and id(node) not in inside:
                return None
            if used:
                found.add(inside[id(node)])
    return frozenset(found)


def _is_plain(value: object) -> bool:
    return isinstance(value, ast.expr) and all(isinstance(inner, _PLAIN) for inner in ast.walk(value))


def _words_for(path: str) -> Iterator[str]:
    name = PurePosixPath(path)
    yield from (name.name, name.stem, name.parent.name)


def _mentions(text: str, words: set[str]) -> bool:
    tree = parse(text)
    strings = (
        [x.value for x in ast.walk(tree) if isinstance(x, ast.Constant) and isinstance(x.value, str)] if tree else []
    )
    return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", string) for word in words if word for string in strings)


def _tests(path: str, text: str, naming: TestNaming) -> Iterator[tuple[str, set[str]]]:
    """Ids with the names that each test mentions."""
    module = parse_tests(path, text, naming)
    for test in module.tests if module else ():
        nodes = list(ast.walk(test.node))
        yield (
            test.id,
            {x.id for x in nodes if isinstance(x, ast.Name)} | {x.attr for x in nodes if isinstance(x, ast.Attribute)},
        )
