"""GRN413: a helper of the tests that lies among the sources, and that stops asserting."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping

from prd2pr.core.sourcefacts_subject import Sighting
from prd2pr.core.testfacts_model import FunctionNode, dotted, parse


def helper_sightings(old: str, new: str, tests: Mapping[str, str]) -> Iterator[Sighting]:
    """Functions that tests call, that asserted before, and that neither assert nor raise any more."""
    before, after = parse(old), parse(new)
    if before is None or after is None:
        return
    called = _called(tests)
    now = {node.name: node for node in ast.walk(after) if isinstance(node, FunctionNode)}
    for node in (x for x in ast.walk(before) if isinstance(x, FunctionNode)):
        changed = now.get(node.name)
        if node.name in called and changed is not None and _asserts(node) and not _can_fail(changed):
            why = f"`{node.name}` is called by the tests and does not assert any more"
            yield Sighting("GRN413", node.name, changed.lineno, why)


def _called(tests: Mapping[str, str]) -> set[str]:
    trees = [tree for tree in map(parse, tests.values()) if tree is not None]
    calls = [x for tree in trees for x in ast.walk(tree) if isinstance(x, ast.Call)]
    return {call.func.attr if isinstance(call.func, ast.Attribute) else dotted(call.func) for call in calls}


def _asserts(node: FunctionNode) -> bool:
    """Compares what it was given by an `assert`, as helpers of tests do."""
    raised = [x.exc for x in ast.walk(node) if isinstance(x, ast.Raise) and x.exc is not None]
    return any(isinstance(x, ast.Assert) for x in ast.walk(node)) or any(
        "AssertionError" in ast.dump(x) for x in raised
    )


def _can_fail(node: FunctionNode) -> bool:
    """Still asserts, raises, or hands on to a function that may."""
    calls = [dotted(x.func) for x in ast.walk(node) if isinstance(x, ast.Call)]
    raises = any(isinstance(x, ast.Assert | ast.Raise) for x in ast.walk(node))
    return raises or any(not hasattr(builtins, name) for name in calls if name)
