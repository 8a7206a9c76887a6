"""Checks of Rust test files; each fact has the code of its finding."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
from prd2pr.languages.rust.declared_tests import TestFunction, find_tests
from prd2pr.languages.rust.files import is_test_file, parse_source
from prd2pr.languages.rust.items import find_inner_attributes, find_items
from prd2pr.languages.rust.subject import find_subject_names, uses_subject
from prd2pr.languages.syntax import get_field, get_line, get_text, join_tokens, list_children, walk
from prd2pr.languages.test_ids import make_test_id

if TYPE_CHECKING:
    from tree_sitter import Node

MakeFact = Callable[..., Fact]
_PROCESS_ENDS = re.compile(r"(^|::)(process::(exit|abort)|_exit)$")
_RUN_CHANGES = re.compile(r"(^|::)(panic::(set_hook|take_hook)|set_hook|take_hook)$")
_RANDOM = re.compile(r"(^|::)(thread_rng|rng|random|from_entropy|from_os_rng|fastrand::\w+)$")
_WRITES = re.compile(r"(^|::)(fs::(write|rename|copy)|File::create)$")
_SAMPLES = re.compile(r"golden|snapshot|testdata|fixtures", re.IGNORECASE)
_SNAPSHOTS = re.compile(r"^assert_\w*snapshot$")
_WEAK = re.compile(r"^!? ?.*\. (is_some|is_none|is_ok|is_err|is_empty) \( \)$")
_MADE = re.compile(r"^[A-Z]\w* [({] ")
_SHADOWS = frozenset({"assert", "assert_eq", "assert_ne", "panic", "matches", "debug_assert"})


@dataclass(frozen=True)
class HelperFunctions:
    """Functions that assert for a file's tests, and functions that only look as if they did."""

    asserting: frozenset[str]
    idle: frozenset[str]


def check_tests(path: str, text: str, context: TestContext) -> Iterator[Fact]:
    root = parse_source(text)
    yield from _check_file(path, root, context)
    if not is_test_file(path):
        return
    helpers, subject = (
        HelperFunctions(find_helpers(root) | context.helpers, find_idle_functions(root)),
        find_subject_names(root),
    )
    for test in find_tests(root):
        id_ = make_test_id(path, test.titles)
        if not context.new_tests or id_ in context.new_tests:
            yield from _check_test(path, id_, test, helpers, subject)


def _check_test(
    path: str, id_: str, test: TestFunction, helpers: HelperFunctions, subject: frozenset[str]
) -> Iterator[Fact]:
    def fact(code: str, message: str, node: Node | None = None) -> Fact:
        return Fact(code=code, path=path, line=get_line(node or test.node), test=id_, message=message)

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
    yield from _check_empty_tables(test.body, fact)
    found = list(find_assertions(test.body, helpers.asserting, helpers.idle))
    if not found and not panics:
        yield fact("RED401", "has no assertion")
        return
    yield from _check_assertions(found, test, fact)
    if not uses_subject(test.node, subject):
        yield fact("RED410", "does not use the project's code")
    direct = [each for each in found if each.form not in PANICS]
    if direct and all(each.form in HOLDS and each.compared and _WEAK.match(each.compared[0].text) for each in direct):
        yield fact("RED418", "only checks that there is a result")


def _check_empty_tables(body: Node, fact: MakeFact) -> Iterator[Fact]:
    for node in walk(body):
        value = get_field(node, "value") if node.type == "for_expression" else None
        if value is not None and join_tokens(value) in {"[ ]", "vec ! [ ]", "& [ ]"}:
            yield fact("RED209", "iterates over an empty list of examples", node)


def _check_assertions(found: list[Assertion], test: TestFunction, fact: MakeFact) -> Iterator[Fact]:
    unlike = any(
        each.form in UNEQUAL for each in found
    )  # with it, comparing the same value twice tests equality itself
    for each in found:
        shown = " ".join(get_text(each.node).split())[:80]
        if _is_unreachable(each.node, test.node):
            yield fact("RED416", "an assertion follows a `return` and never runs", each.node)
        elif _always_fails(each, test):
            yield fact("RED306", "always fails, whatever the code does", each.node)
        elif _is_constant_assertion(each):
            yield fact("RED401", f"`{shown}` holds whatever the code does", each.node)
        elif _is_mirror(each) and not (_MADE.match(each.compared[0].text) and unlike):
            yield fact("RED409", f"compares a value with itself: `{shown}`", each.node)
        if _SNAPSHOTS.match(each.form) and len(each.arguments) < 2:
            yield fact("RED413", "a snapshot accepts the first result, whatever it is", each.node)
        yield from _check_surroundings(each, test, fact)


def _always_fails(each: Assertion, test: TestFunction) -> bool:
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


def _check_surroundings(each: Assertion, test: TestFunction, fact: MakeFact) -> Iterator[Fact]:
    for parent in _ancestors(each.node, test.node):
        if parent.type != "call_expression":
            continue
        callee = get_text(get_field(parent, "function"))
        if callee.endswith("catch_unwind") and is_result_dropped(parent):
            yield fact("RED404", "an assertion is caught by `catch_unwind`, and its result is ignored", each.node)
        elif callee.endswith("spawn") and "join" not in get_text(test.node) and "scope" not in get_text(test.node):
            yield fact("RED408", "asserts in a thread that is not joined", each.node)


def _ancestors(node: Node, top: Node) -> Iterator[Node]:
    parent = node.parent
    while parent is not None and parent.id != top.id:
        yield parent
        parent = parent.parent


def _is_unreachable(node: Node, top: Node) -> bool:
    inner = node
    for parent in _ancestors(node, top):
        if parent.type == "block":
            before = [each for each in list_children(parent) if each.end_byte <= inner.start_byte]
            if any(get_text(each).startswith("return") for each in before):
                return True
        inner = parent
    return False


# --- the whole file ---------------------------------------------------------------------------------------------------


def _check_file(path: str, root: Node, context: TestContext) -> Iterator[Fact]:
    def fact(code: str, message: str, node: Node) -> Fact:
        return Fact(code=code, path=path, line=get_line(node), message=message)

    for attribute, node in find_inner_attributes(root):
        if attribute.startswith(("cfg (", "cfg_attr")):
            yield fact("RED208", f"is excluded by `#![{attribute.replace(' ', '')}]`", node)
        elif attribute == "no_main" or attribute.startswith("feature"):
            yield fact("RED107", f"`#![{attribute}]` interferes with the test results", node)
    planned = {name.rpartition(".")[2] for name in context.planned}
    for item in find_items(root):
        if item.node.type == "macro_definition" and item.name in _SHADOWS:
            yield fact("RED107", f"redefines the macro `{item.name}!`", item.node)
        elif item.node.type == "function_item" and item.name == "main" and not item.modules and is_test_file(path):
            yield fact("RED107", "defines its own `main`, which replaces the test runner", item.node)
        elif item.node.type in {"function_item", "struct_item", "enum_item"} and item.name in planned:
            yield fact("RED405", f"defines `{item.name}` itself, which the story has to implement", item.node)
        elif item.node.type == "foreign_mod_item":
            yield fact("RED107", "calls foreign functions", item.node)
    for node in walk(root):
        if node.type == "call_expression":
            yield from _check_call(node, fact)


def _check_call(node: Node, fact: MakeFact) -> Iterator[Fact]:
    callee = get_text(get_field(node, "function"))
    if _PROCESS_ENDS.search(callee):
        yield fact("RED304", f"`{callee}` ends the whole run", node)
    elif _RUN_CHANGES.search(callee):
        yield fact("RED107", f"`{callee}` interferes with the test results", node)
    elif _RANDOM.search(callee):
        yield fact("RED505", f"depends on `{callee}`", node)
    elif _WRITES.search(callee) and _SAMPLES.search(get_text(get_field(node, "arguments"))):
        yield fact("RED413", "writes the expected file that it compares with", node)
