"""What the AST of a test file says: declared tests, named criteria, and facts that become RED findings."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable

from prd2pr.core.endings import ending_facts
from prd2pr.core.evidence import Fact
from prd2pr.core.test_naming import USUAL, TestNaming
from prd2pr.core.testfacts_hooks import hook_facts
from prd2pr.core.testfacts_impossible import impossible_facts
from prd2pr.core.testfacts_marks import mark_facts
from prd2pr.core.testfacts_mirror import mirror_facts
from prd2pr.core.testfacts_mocks import mock_facts
from prd2pr.core.testfacts_model import DeclaredTest, FactContext, is_too_deep, parse_tests
from prd2pr.core.testfacts_moments import chance_facts
from prd2pr.core.testfacts_oracle import oracle_facts
from prd2pr.core.testfacts_suite import Suite
from prd2pr.core.testfacts_vacuous import vacuous_facts

__all__ = ["FactContext", "criteria_named", "declared_tests", "test_facts"]

_RULES: tuple[Callable[[Suite], Iterable[Fact]], ...] = (
    mark_facts,
    chance_facts,
    hook_facts,
    mock_facts,
    vacuous_facts,
    oracle_facts,
    impossible_facts,
    mirror_facts,
    ending_facts,
)


def declared_tests(path: str, source: str, naming: TestNaming = USUAL) -> tuple[str, ...]:
    """Node ids without parameters. A name that is declared twice stands here twice: pytest would run only the last."""
    if not naming.is_module(path):
        return ()
    module = parse_tests(path, source, naming)
    return tuple(test.id for test in module.tests) if module else ()


def test_facts(path: str, source: str, context: FactContext) -> tuple[Fact, ...]:
    """Facts about a test module, a conftest or a helper module under the tests."""
    module = parse_tests(path, source, context.naming)
    if module is None:
        deep = Fact(code="RED211", path=path, message="is nested too deeply to be read")
        return (deep,) if is_too_deep(source) else ()
    suite = Suite(module, context)
    facts = [fact for rule in _RULES for fact in rule(suite)]
    return tuple(sorted(facts, key=lambda fact: (fact.line, fact.code)))


def criteria_named(
    path: str, source: str, criteria_ids: Iterable[str], naming: TestNaming = USUAL
) -> dict[str, tuple[str, ...]]:
    """Which tests name which criterion: by its id in docstring, marker or comment, or by `c2` in the test's name."""
    module = parse_tests(path, source, naming) if naming.is_module(path) else None
    tests = module.tests if module else ()
    lines = source.splitlines()
    return {
        criterion: tuple(dict.fromkeys(test.id for test in tests if _names(test, lines, criterion)))
        for criterion in criteria_ids
    }


def _names(test: DeclaredTest, lines: list[str], criterion: str) -> bool:
    exact = re.compile(rf"(?<![\w.-]){re.escape(criterion)}(?![\w-]|\.\w)")
    texts = [_text(test.node, lines), *(_head(owner, lines) for owner in test.owners)]
    if any(exact.search(text) for text in texts):
        return True
    words = "_".join([*(owner.name for owner in test.owners), test.name]).lower().split("_")
    whole = re.sub(r"[^a-z0-9]+", "_", criterion.lower())
    return criterion.rpartition(".")[2].lower() in words or f"_{whole}_" in f"_{'_'.join(words)}_"


def _text(node: ast.stmt, lines: list[str]) -> str:
    """The function as written, with its decorators and the comment right above it."""
    return "\n".join(lines[_first_line(node, lines) - 1 : node.end_lineno])


def _head(owner: ast.ClassDef, lines: list[str]) -> str:
    """A class speaks for its tests by what stands above its first member."""
    return "\n".join([*lines[_first_line(owner, lines) - 1 : owner.lineno], ast.get_docstring(owner) or ""])


def _first_line(node: ast.stmt, lines: list[str]) -> int:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else []
    first = min([node.lineno, *(item.lineno for item in decorators)])
    while first > 1 and lines[first - 2].strip().startswith("#"):
        first -= 1
    return first
