"""Tests that hand something to the subject when their file is imported: `@register` above a function of theirs.

What the subject answers then hangs on that, as on anything else that a test has set up. A program without the tests'
files cannot have it, so its other answer says nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from prd2pr.core.bite.record import Bite, Differing, Replay
from prd2pr.core.testfacts_model import FunctionNode, dotted, parse, resolve
from prd2pr.core.testfacts_suite import SuiteFile


def without_registered(bite: Bite, tests: Mapping[str, str], sources: Mapping[str, str]) -> Bite:
    """`tests` and `sources`: path -> text."""
    replay = bite.replay
    if replay is None or not replay.differing:
        return bite
    kept = tuple(each for each in replay.differing if not _is_registered(each, tests, sources))
    dropped = len(replay.differing) - len(kept)
    judged: Replay = replay.model_copy(update={"differing": kept, "not_judged": replay.not_judged + dropped})
    return bite.model_copy(update={"replay": judged})


def _is_registered(each: Differing, tests: Mapping[str, str], sources: Mapping[str, str]) -> bool:
    """Whether the test's file has called, for its effect, a function that stands beside the one in question."""
    path = each.test.partition("::")[0]
    tree, source = parse(tests.get(path, "")), parse(sources.get(each.path, ""))
    if tree is None or source is None:
        return False
    defined = {node.name for node in ast.walk(source) if isinstance(node, FunctionNode)}
    return any(name.rpartition(".")[2] in defined for name in _for_effect(SuiteFile(path, tree)))


def _for_effect(file: SuiteFile) -> Iterator[str]:
    """Full names of what the file calls at its top without keeping the answer, and of its decorators."""
    for node in file.tree.body:
        used: list[ast.expr] = []
        if isinstance(node, FunctionNode | ast.ClassDef):
            used = node.decorator_list
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            used = [node.value]
        for each in used:
            name = dotted(each.func if isinstance(each, ast.Call) else each)
            if name.partition(".")[0] in file.imports:
                yield resolve(name, file.imports)
