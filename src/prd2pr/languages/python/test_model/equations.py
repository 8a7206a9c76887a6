"""Collects the comparisons that a test asserts, with names replaced by their values."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from prd2pr.languages.python.test_model.data_flow import find_bindings
from prd2pr.languages.python.test_model.module import (
    DeclaredTest,
    get_dotted_name,
)
from prd2pr.languages.python.test_model.scope import TestScope

_UNITTEST: dict[str, type[ast.cmpop]] = {"self.assertEqual": ast.Eq, "self.assertNotEqual": ast.NotEq}


def find_asserted_comparisons(test: ast.stmt) -> Iterator[ast.Compare]:
    for node in ast.walk(test):
        if isinstance(node, ast.Assert):
            both = isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And)
            parts = node.test.values if both and isinstance(node.test, ast.BoolOp) else [node.test]
            yield from (x for x in parts if isinstance(x, ast.Compare) and len(x.ops) == 1)
        elif isinstance(node, ast.Call) and (op := _UNITTEST.get(get_dotted_name(node.func))) and len(node.args) >= 2:
            compare = ast.Compare(left=node.args[0], ops=[op()], comparators=[node.args[1]])
            yield ast.copy_location(compare, node)


@dataclass(frozen=True)
class AssertedEquation:
    """An assertion `assert left == right`, with names replaced by their values."""

    scope: TestScope
    position: int  # index of the statement in the test
    line: int
    left: ast.expr
    right: ast.expr
    plain: bool  # a top-level assertion without setup before its call

    def sides(self) -> tuple[tuple[ast.expr, ast.expr], tuple[ast.expr, ast.expr]]:
        return (self.left, self.right), (self.right, self.left)


def find_asserted_equations(scope: TestScope) -> Iterator[AssertedEquation]:
    bound = find_single_bindings(scope.test)
    bare = not scope.test.node.args.args and not scope.setups and not scope.used_fixtures
    for position, statement in enumerate(scope.test.node.body):
        top = isinstance(statement, ast.Assert)
        before = scope.test.node.body[:position]
        untouched = bare and all(
            isinstance(node, ast.Assert | ast.Assign | ast.Import | ast.ImportFrom) for node in before
        )
        for node in (x for x in find_asserted_comparisons(statement) if isinstance(x.ops[0], ast.Eq)):
            left, right = (substitute_name(side, bound) for side in (node.left, node.comparators[0]))
            yield AssertedEquation(scope, position, node.lineno, left, right, top and untouched)


def find_single_bindings(test: DeclaredTest) -> dict[str, ast.expr]:
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(test.node):
        for name, value in find_bindings(node):
            found.setdefault(name, []).append(value)
    plain = {
        id(x.value) for x in ast.walk(test.node) if isinstance(x, ast.Assign) and isinstance(x.targets[0], ast.Name)
    }
    return {name: values[0] for name, values in found.items() if len(values) == 1 and id(values[0]) in plain}


def substitute_name(node: ast.expr, bound: dict[str, ast.expr]) -> ast.expr:
    """Return the value bound to a name. A single step is enough for `expected = add(2, 3)`."""
    return bound[node.id] if isinstance(node, ast.Name) and node.id in bound else node
