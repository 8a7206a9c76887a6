"""Checks a test file: its declared tests, the criteria they name, and the facts that become RED findings."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable

from prd2pr.domain.evidence import Fact
from prd2pr.domain.results.finding_kind import FindingKind, define_strict_error
from prd2pr.languages.python.rules.test_code.contradictions import check_contradictions, check_impossible_values
from prd2pr.languages.python.rules.test_code.marks import check_marks
from prd2pr.languages.python.rules.test_code.mocks import check_mocks
from prd2pr.languages.python.rules.test_code.nondeterminism import check_nondeterminism
from prd2pr.languages.python.rules.test_code.oracle import check_oracles, check_self_comparison
from prd2pr.languages.python.rules.test_code.runner_hooks import check_runner_hooks
from prd2pr.languages.python.rules.test_code.unrelated_failures import check_process_exit
from prd2pr.languages.python.rules.test_code.vacuous import check_vacuous
from prd2pr.languages.python.test_model.module import DeclaredTest, FactContext, is_too_deeply_nested, parse_tests
from prd2pr.languages.python.test_model.suite import Suite
from prd2pr.languages.python.test_naming import DEFAULT_NAMING, TestNaming
from prd2pr.languages.rule_isolation import collect_facts

FINDINGS: tuple[FindingKind, ...] = (
    define_strict_error(
        "RED211",
        "a test file is nested too deeply to analyze",
        "The rules that detect vacuous and mocked tests cannot analyze the file, and people cannot read it.",
        bad="total = 1 + 1 + 1 + …   # a thousand terms",
        good="def test_total():\n    assert total([1] * 1000) == 1000",
        remedy="reduce the nesting.",
    ),
)


__all__ = ["FactContext", "check_test_file", "find_declared_tests", "find_tests_by_criterion"]

_RULES: tuple[Callable[[Suite], Iterable[Fact]], ...] = (
    check_marks,
    check_nondeterminism,
    check_runner_hooks,
    check_mocks,
    check_vacuous,
    check_contradictions,
    check_oracles,
    check_impossible_values,
    check_self_comparison,
    check_process_exit,
)


def find_declared_tests(path: str, source: str, naming: TestNaming = DEFAULT_NAMING) -> tuple[str, ...]:
    """Return the node ids of the declared tests, without parameters. A test that is declared twice is listed twice."""
    if not naming.is_module(path):
        return ()
    module = parse_tests(path, source, naming)
    return tuple(test.id for test in module.tests) if module else ()


def check_test_file(path: str, source: str, context: FactContext) -> tuple[Fact, ...]:
    """Apply all rules to a test module, a conftest or a test helper module."""
    module = parse_tests(path, source, context.naming)
    if module is None:
        deep = Fact(code="RED211", path=path, message="is nested too deeply to analyze")
        return (deep,) if is_too_deeply_nested(source) else ()
    suite = Suite(module, context)
    facts = [fact for rule in _RULES for fact in collect_facts(rule, suite)]
    facts = [fact if fact.path else fact.model_copy(update={"path": path}) for fact in facts]
    return tuple(sorted(facts, key=lambda fact: (fact.line, fact.code)))


def find_tests_by_criterion(
    path: str, source: str, criteria_ids: Iterable[str], naming: TestNaming = DEFAULT_NAMING
) -> dict[str, tuple[str, ...]]:
    """Return the tests that name each criterion.

    A test names a criterion by its id in a docstring, marker or comment, or by `c2` in the test's name.
    """
    module = parse_tests(path, source, naming) if naming.is_module(path) else None
    tests = module.tests if module else ()
    lines = source.splitlines()
    return {
        criterion: tuple(dict.fromkeys(test.id for test in tests if _names_criterion(test, lines, criterion)))
        for criterion in criteria_ids
    }


def _names_criterion(test: DeclaredTest, lines: list[str], criterion: str) -> bool:
    exact = re.compile(rf"(?<![\w.-]){re.escape(criterion)}(?![\w-]|\.\w)")
    texts = [_get_test_text(test.node, lines), *(_get_class_head(owner, lines) for owner in test.owners)]
    if any(exact.search(text) for text in texts):
        return True
    words = "_".join([*(owner.name for owner in test.owners), test.name]).lower().split("_")
    whole = re.sub(r"[^a-z0-9]+", "_", criterion.lower())
    return criterion.rpartition(".")[2].lower() in words or f"_{whole}_" in f"_{'_'.join(words)}_"


def _get_test_text(node: ast.stmt, lines: list[str]) -> str:
    """Return the source of the function with its decorators and the comment above it."""
    return "\n".join(lines[_find_first_line(node, lines) - 1 : node.end_lineno])


def _get_class_head(owner: ast.ClassDef, lines: list[str]) -> str:
    """Return the source of the class before its first member, which applies to all of its tests."""
    return "\n".join([*lines[_find_first_line(owner, lines) - 1 : owner.lineno], ast.get_docstring(owner) or ""])


def _find_first_line(node: ast.stmt, lines: list[str]) -> int:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else []
    first = min([node.lineno, *(item.lineno for item in decorators)])
    while first > 1 and lines[first - 2].strip().startswith("#"):
        first -= 1
    return first
