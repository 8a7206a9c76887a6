"""Checks of Go test files in addition to the queries: conditions, goroutines and panics around assertions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.domain.evidence import Fact
from prd2pr.languages.base import TestContext
from prd2pr.languages.golang.assertions import (
    STOPPING_METHODS,
    Assertion,
    find_assertion_names,
    find_assertions,
    find_comparisons,
    is_constant,
)
from prd2pr.languages.golang.declared_tests import GoTest, find_tests
from prd2pr.languages.golang.files import SYNTAX, is_test_file
from prd2pr.languages.golang.functions import list_statements
from prd2pr.languages.golang.imports import find_local_names
from prd2pr.languages.golang.subject import find_subject_names, uses_subject
from prd2pr.languages.syntax.nodes import get_text, join_tokens, walk
from prd2pr.languages.syntax.queries import Names, SyntaxFile, ancestors
from prd2pr.languages.syntax.subject import list_pattern_names
from prd2pr.languages.syntax.test_rules import MakeFact, TestRules, is_unreachable, shorten

if TYPE_CHECKING:
    from tree_sitter import Node

_WAITS = re.compile(r"\.Wait\(\)|<-|\.Join\(")
_NEVER = re.compile(r"^(len|cap) \( [^()]* \) (< 0|<= - ?1|== - ?\d+)$")
_RANDOM = ("math/rand", "math/rand/v2", "crypto/rand")


def _read_names(_: str, file: SyntaxFile, context: TestContext) -> Names:
    return {
        "contexts": find_assertion_names(file.root).contexts,
        "rand": frozenset().union(*(find_local_names(file.root, path) for path in _RANDOM)),
        "subject": find_subject_names(file) | context.subject_helpers,
        "bound": frozenset(name for node in file.find_nodes("bound") for name in list_pattern_names(node)),
    }


def _check_test(file: SyntaxFile, test: GoTest, names: Names, fact: MakeFact) -> Iterator[Fact]:
    if test.body is None or test.titles[0].startswith("Example"):
        return
    found = list(find_assertions(test.body, find_assertion_names(file.root)))
    if not found:
        yield fact("RED401", "has no assertion: no `t.Error`, `t.Fatal` or similar")
        return
    yield from _check_assertions(found, test, fact)
    if not uses_subject(file, _find_function(test), names["subject"]):
        yield fact("RED410", "does not use the project's code")
    if all(_is_weak(each) for each in found):
        yield fact("RED418", "only checks that there is a result")


def _find_function(test: GoTest) -> Node:
    """Return the function that contains a subtest, because it may create the values that the subtest checks."""
    return [test.node, *ancestors(test.node)][-2]


# --- assertions -------------------------------------------------------------------------------------------------------


def _check_assertions(found: list[Assertion], test: GoTest, fact: MakeFact) -> Iterator[Fact]:
    for each in found:
        if each.form in {"library", "helper"}:
            continue
        if is_unreachable(each.node, test.node):
            yield fact("RED416", "an assertion follows a `return` and never runs", each.node)
        elif each.condition is None and not _may_return_before(each.node, test.node):
            yield fact("RED306", "always fails, whatever the code does", each.node)
        elif each.condition is not None:
            yield from _check_condition(each, fact)
        if each.form in STOPPING_METHODS and _is_in_goroutine(each.node, test.node):
            yield fact("RED408", f"`{each.form}` in another goroutine does not stop the test", each.node)
        elif _is_in_goroutine(each.node, test.node) and not _WAITS.search(get_text(_find_function(test))):
            yield fact("RED408", "asserts in a goroutine that the test does not wait for", each.node)
    if _swallows_panics(test):
        yield fact("RED404", "a `recover()` swallows every panic")


def _check_condition(each: Assertion, fact: MakeFact) -> Iterator[Fact]:
    condition = each.condition
    shown = shorten(condition)
    if condition is not None and is_constant(condition):
        holds = get_text(condition).strip("() ") == "true"
        code, verdict = ("RED306", "always fails") if holds else ("RED401", "never fails")
        yield fact(code, f"{verdict}: `{shown}` does not depend on the code", each.node)
    if condition is not None and _NEVER.search(join_tokens(condition)):
        yield fact("RED401", f"never fails: a length is never negative (`{shown}`)", each.node)
    for operator, left, right in find_comparisons(condition):
        if join_tokens(left) == join_tokens(right):
            code = "RED409" if "(" in get_text(left) else "RED401"
            yield fact(code, f"compares a value with itself: `{shown}`", each.node)
        elif is_constant(left) and is_constant(right) and condition is not None and not is_constant(condition):
            yield fact("RED401", f"`{get_text(left)} {operator} {get_text(right)}` is constant", each.node)


def _is_in_goroutine(node: Node, top: Node) -> bool:
    return any(each.type == "go_statement" for each in ancestors(node, top))


def _may_return_before(node: Node, top: Node) -> bool:
    """Return whether an earlier statement, such as `if ok { return }`, may end the function before the node."""
    for parent in (*ancestors(node, top), top):
        if parent.type in {"block", "statement_list"}:
            before = [each for each in list_statements(parent) if each.end_byte <= node.start_byte]
            if any(each.type != "return_statement" and _has_exit(each) for each in before):
                return True
    return False


def _has_exit(node: Node) -> bool:
    return any(each.type in {"return_statement", "continue_statement", "break_statement"} for each in walk(node))


def _is_weak(each: Assertion) -> bool:
    """Return whether the assertion only compares a value with nil."""
    if each.form in {"library", "helper"} or each.condition is None:
        return False
    pairs = list(find_comparisons(each.condition))
    return bool(pairs) and all("nil" in {get_text(left), get_text(right)} for _, left, right in pairs)


def _swallows_panics(test: GoTest) -> bool:
    """Return whether the test recovers from panics without checking them."""
    for node in walk(test.body) if test.body is not None else ():
        if node.type == "defer_statement" and "recover()" in get_text(node):
            is_checked = any(each.type in {"if_statement", "expression_switch_statement"} for each in walk(node))
            if not is_checked:
                return True
    return False


RULES = TestRules(SYNTAX, is_test_file, _read_names, find_tests, _check_test)
