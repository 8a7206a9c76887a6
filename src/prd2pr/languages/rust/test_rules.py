"""Checks of Rust test files in addition to the queries: attributes, items, and arguments of assertion macros."""

from __future__ import annotations

import re
from collections.abc import Iterator

from prd2pr.domain.evidence import Fact
from prd2pr.languages.base import TestContext
from prd2pr.languages.rust.assertions import (
    EQUAL,
    HOLDS,
    PANICS,
    UNEQUAL,
    Assertion,
    find_assertions,
    find_helpers,
    find_idle_functions,
    is_conditional,
    is_result_dropped,
)
from prd2pr.languages.rust.declared_tests import RustTest, find_tests
from prd2pr.languages.rust.files import SYNTAX, is_test_file
from prd2pr.languages.rust.items import find_inner_attributes, find_items
from prd2pr.languages.rust.subject import find_subject_names, uses_subject
from prd2pr.languages.syntax.nodes import get_field, get_text
from prd2pr.languages.syntax.queries import Found, Names, SyntaxFile, ancestors
from prd2pr.languages.syntax.test_rules import MakeFact, TestRules, is_unreachable, shorten

_SNAPSHOTS = re.compile(r"^assert_\w*snapshot$")
_WEAK = re.compile(r"^!? ?.*\. (is_some|is_none|is_ok|is_err|is_empty) \( \)$")
_MADE = re.compile(r"^[A-Z]\w* [({] ")
_SHADOWS = frozenset({"assert", "assert_eq", "assert_ne", "panic", "matches", "debug_assert"})


def _read_names(_: str, file: SyntaxFile, context: TestContext) -> Names:
    """Return the functions that assert on behalf of a file's tests, and the functions that only look as if they did."""
    return {
        "asserting": find_helpers(file.root) | context.helpers,
        "idle": find_idle_functions(file.root),
        "subject": find_subject_names(file) | context.subject_helpers,
    }


def _check_test(file: SyntaxFile, test: RustTest, names: Names, fact: MakeFact) -> Iterator[Fact]:
    for attribute in test.attributes:
        if attribute.startswith("ignore"):
            yield fact("RED208", "is marked `#[ignore]`")
        elif attribute.startswith(("cfg (", "cfg_attr")):
            yield fact("RED208", f"is excluded by `#[{attribute.replace(' ', '')}]`")
    panics = [each for each in test.attributes if each.startswith("should_panic")]
    if panics and "expected" not in panics[0]:
        yield fact("RED406", "accepts any panic: use `should_panic(expected = …)`")
    if test.body is None:
        return
    found = list(find_assertions(test.body, names["asserting"], names["idle"]))
    if not found and not panics:
        yield fact("RED401", "has no assertion")
        return
    yield from _check_assertions(found, test, fact)
    if not uses_subject(file, test.node, names["subject"]):
        yield fact("RED410", "does not use the project's code")
    direct = [each for each in found if each.form not in PANICS]
    if direct and all(each.form in HOLDS and each.compared and _WEAK.match(each.compared[0].text) for each in direct):
        yield fact("RED418", "only checks that there is a result")


def _check_assertions(found: list[Assertion], test: RustTest, fact: MakeFact) -> Iterator[Fact]:
    unlike = any(
        each.form in UNEQUAL for each in found
    )  # then comparing a value with itself tests the equality operator
    for each in found:
        shown = shorten(each.node)
        if is_unreachable(each.node, test.node):
            yield fact("RED416", "an assertion follows a `return` and never runs", each.node)
        elif _always_fails(each, test):
            yield fact("RED306", "always fails, whatever the code does", each.node)
        elif _is_constant_assertion(each):
            yield fact("RED401", f"`{shown}` is true whatever the code does", each.node)
        elif _is_mirror(each) and not (_MADE.match(each.compared[0].text) and unlike):
            yield fact("RED409", f"compares a value with itself: `{shown}`", each.node)
        if _SNAPSHOTS.match(each.form) and len(each.arguments) < 2:
            yield fact("RED413", "a snapshot accepts the first result, whatever it is", each.node)
        yield from _check_surroundings(each, test, fact)


def _always_fails(each: Assertion, test: RustTest) -> bool:
    if each.form in PANICS:
        expected = any(attribute.startswith("should_panic") for attribute in test.attributes)
        return not expected and not is_conditional(each.node, test.node)
    texts = [argument.text for argument in each.compared]
    if each.form in HOLDS:
        return texts[:1] == ["false"]
    constant = len(each.compared) == 2 and all(one.is_constant and len(one.nodes) == 1 for one in each.compared)
    return constant and ((texts[0] != texts[1]) if each.form in EQUAL else texts[0] == texts[1])


def _is_constant_assertion(each: Assertion) -> bool:
    return (
        bool(each.compared) and each.form in HOLDS | EQUAL | UNEQUAL and all(one.is_constant for one in each.compared)
    )


def _is_mirror(each: Assertion) -> bool:
    if each.form in HOLDS and each.compared:
        left, operator, right = each.compared[0].text.partition(" == ")
        return bool(operator) and left == right
    return each.form in EQUAL and len(each.compared) == 2 and each.compared[0].text == each.compared[1].text


def _check_surroundings(each: Assertion, test: RustTest, fact: MakeFact) -> Iterator[Fact]:
    for parent in ancestors(each.node, test.node):
        if parent.type != "call_expression":
            continue
        callee = get_text(get_field(parent, "function"))
        if callee.endswith("catch_unwind") and is_result_dropped(parent):
            yield fact("RED404", "an assertion is caught by `catch_unwind`, and its result is ignored", each.node)
        elif callee.endswith("spawn") and "join" not in get_text(test.node) and "scope" not in get_text(test.node):
            yield fact("RED408", "asserts in a thread that is not joined", each.node)


def _check_file(path: str, file: SyntaxFile, context: TestContext) -> Iterator[Found]:
    for attribute, node in find_inner_attributes(file.root):
        if attribute.startswith(("cfg (", "cfg_attr")):
            yield "RED208", f"is excluded by `#![{attribute.replace(' ', '')}]`", node
        elif attribute == "no_main" or attribute.startswith("feature"):
            yield "RED107", f"`#![{attribute}]` interferes with the test results", node
    planned = {name.rpartition(".")[2] for name in context.planned}
    for item in find_items(file.root):
        if item.node.type == "macro_definition" and item.name in _SHADOWS:
            yield "RED107", f"redefines the macro `{item.name}!`", item.node
        elif item.node.type == "function_item" and item.name == "main" and not item.modules and is_test_file(path):
            yield "RED107", "defines its own `main`, which replaces the test runner", item.node
        elif item.node.type in {"function_item", "struct_item", "enum_item"} and item.name in planned:
            yield "RED405", f"defines `{item.name}` itself, which the story has to implement", item.node
        elif item.node.type == "foreign_mod_item":
            yield "RED107", "calls foreign functions", item.node


RULES = TestRules(SYNTAX, is_test_file, _read_names, find_tests, _check_test, _check_file)
