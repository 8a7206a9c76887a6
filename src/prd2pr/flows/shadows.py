"""New source modules that stand in front of what the tests import already."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import PurePosixPath

from prd2pr.core.evidence import Fact, PathKind, RunReport
from prd2pr.core.signatures import module_name
from prd2pr.core.testfacts_model import parse
from prd2pr.flows.codebase import Pair

CODE = "GRN101"


def shadowing_modules(pair: Pair, base: RunReport) -> Iterator[Fact]:
    """A new module by the name of something that tests could import before it was there."""
    known = _known_to_tests(pair, base) - pair.base.top_level
    for change in pair.changed(PathKind.SOURCE):
        name = module_name(change.path)
        if change.status == "added" and name in known:
            yield Fact(code=CODE, path=change.path, message=f"the tests' `import {name}` would now find this file")


def _known_to_tests(pair: Pair, base: RunReport) -> frozenset[str]:
    """Names of the standard library and of test helpers that tests import; and all imports of what passed before."""
    ran = {result.id.partition("::")[0] for result in base.results if result.outcome == "passed"}
    helpers = {PurePosixPath(path).stem for path in pair.base.support_texts}
    found: set[str] = set()
    for path, text in pair.base.test_texts.items():
        names = set(_imported(text))
        found |= names if path in ran else names & (sys.stdlib_module_names | helpers)
    return frozenset(found)


def _imported(text: str) -> Iterator[str]:
    tree = parse(text)
    for node in tree.body if tree else ():
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]
