"""What the text of a Rust test file says against its tests, named by the finding that it becomes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.core.evidence import Fact
from prd2pr.core.other.ids import named
from prd2pr.core.other.language import TestContext
from prd2pr.core.other.rust.assertions import (
    EQUAL,
    HOLDS,
    PANICS,
    UNEQUAL,
    Assertion,
    assertions_in,
    helpers_in,
    idle_in,
    is_conditional,
    is_dropped,
)
from prd2pr.core.other.rust.declared import Test, tests_in
from prd2pr.core.other.rust.files import is_test_file, root_of
from prd2pr.core.other.rust.items import inner_attributes, items_in
from prd2pr.core.other.rust.subject import subject_names, uses_subject
from prd2pr.core.other.syntax import children, line_of, part, text_of, tokens, walk

if TYPE_CHECKING:
    from tree_sitter import Node

Make = Callable[..., Fact]
_ENDING = re.compile(r"(^|::)(process::(exit|abort)|_exit)$")
_REACHING = re.compile(r"(^|::)(panic::(set_hook|take_hook)|set_hook|take_hook)$")
_CHANCE = re.compile(r"(^|::)(thread_rng|rng|random|from_entropy|from_os_rng|fastrand::\w+)$")
_WRITES = re.compile(r"(^|::)(fs::(write|rename|copy)|File::create)$")
_SAMPLES = re.compile(r"golden|snapshot|testdata|fixtures", re.IGNORECASE)
_SNAPSHOTS = re.compile(r"^assert_\w*snapshot$")
_LITTLE = re.compile(r"^!? ?.*\. (is_some|is_none|is_ok|is_err|is_empty) \( \)$")
_MADE = re.compile(r"^[A-Z]\w* [({] ")
_SHADOWS = frozenset({"assert", "assert_eq", "assert_ne", "panic", "matches", "debug_assert"})


@dataclass(frozen=True)
class Helpers:
    """Functions by which the tests of a file assert, and those of the file that only look as if."""

    asserting: frozenset[str]
    idle: frozenset[str]


def test_facts(path: str, text: str, context: TestContext) -> Iterator[Fact]:
    root = root_of(text)
    yield from _of_file(path, root, context)
    if not is_test_file(path):
        return
    helpers, subject = Helpers(helpers_in(root) | context.helpers, idle_in(root)), subject_names(root)
    for test in tests_in(root):
        id_ = named(path, test.titles)
        if not context.new_tests or id_ in context.new_tests:
            yield from _of_test(path, id_, test, helpers, subject)


def _of_test(path: str, id_: str, test: Test, helpers: Helpers, subject: frozenset[str]) -> Iterator[Fact]:
    def fact(code: str, message: str, node: Node | None = None) -> Fact:
        return Fact(code=code, path=path, line=line_of(node or test.node), test=id_, message=message)

    for attribute in test.attributes:
        if attribute.startswith("ignore"):
            yield fact("RED208", "is marked `#[ignore]`")
        elif attribute.startswith(("cfg (", "cfg_attr")):
            yield fact("RED208", f"is left out by `#[{attribute.replace(' ', '')}]`")
    panics = [each for each in test.attributes if each.startswith("should_panic")]
    if panics and "expected" not in panics[0]:
        yield fact("RED406", "is content with any panic: name it by `should_panic(expected = …)`")
    if test.body is None:
        return
    yield from _empty_tables(test.body, fact)
    found = list(assertions_in(test.body, helpers.asserting, helpers.idle))
    if not found and not panics:
        yield fact("RED401", "asserts nothing")
        return
    yield from _of_assertions(found, test, fact)
    if not uses_subject(test.node, subject):
        yield fact("RED410", "uses nothing of the project")
    asked = [each for each in found if each.form not in PANICS]
    if asked and all(each.form in HOLDS and each.asked and _LITTLE.match(each.asked[0].text) for each in asked):
        yield fact("RED418", "only asks whether there is an answer")


def _empty_tables(body: Node, fact: Make) -> Iterator[Fact]:
    for node in walk(body):
        value = part(node, "value") if node.type == "for_expression" else None
        if value is not None and tokens(value) in {"[ ]", "vec ! [ ]", "& [ ]"}:
            yield fact("RED209", "goes through an empty list of examples", node)


def _of_assertions(found: list[Assertion], test: Test, fact: Make) -> Iterator[Fact]:
    unlike = any(each.form in UNEQUAL for each in found)  # beside it, the same value twice asks what equality is
    for each in found:
        shown = " ".join(text_of(each.node).split())[:80]
        if _is_unreachable(each.node, test.node):
            yield fact("RED416", "an assertion stands behind a `return`", each.node)
        elif _always_fails(each, test):
            yield fact("RED306", "fails on purpose, whatever the code does", each.node)
        elif _says_nothing(each):
            yield fact("RED401", f"`{shown}` holds whatever the code does", each.node)
        elif _is_mirror(each) and not (_MADE.match(each.asked[0].text) and unlike):
            yield fact("RED409", f"compares something with itself: `{shown}`", each.node)
        if _SNAPSHOTS.match(each.form) and len(each.arguments) < 2:
            yield fact("RED413", "a snapshot accepts whatever comes first", each.node)
        yield from _of_surroundings(each, test, fact)


def _always_fails(each: Assertion, test: Test) -> bool:
    if each.form in PANICS:
        expected = any(attribute.startswith("should_panic") for attribute in test.attributes)
        return not expected and not is_conditional(each.node, test.node)
    asked = [argument.text for argument in each.asked]
    if each.form in HOLDS:
        return asked[:1] == ["false"]
    constant = len(each.asked) == 2 and all(one.is_constant and len(one.nodes) == 1 for one in each.asked)
    return constant and ((asked[0] != asked[1]) if each.form in EQUAL else asked[0] == asked[1])


def _says_nothing(each: Assertion) -> bool:
    return bool(each.asked) and each.form in HOLDS | EQUAL | UNEQUAL and all(one.is_constant for one in each.asked)


def _is_mirror(each: Assertion) -> bool:
    if each.form in HOLDS and each.asked:
        left, operator, right = each.asked[0].text.partition(" == ")
        return bool(operator) and left == right
    return each.form in EQUAL and len(each.asked) == 2 and each.asked[0].text == each.asked[1].text


def _of_surroundings(each: Assertion, test: Test, fact: Make) -> Iterator[Fact]:
    for parent in _ancestors(each.node, test.node):
        if parent.type != "call_expression":
            continue
        callee = text_of(part(parent, "function"))
        if callee.endswith("catch_unwind") and is_dropped(parent):
            yield fact("RED404", "an assertion is caught by `catch_unwind`, and nobody looks at it", each.node)
        elif callee.endswith("spawn") and "join" not in text_of(test.node) and "scope" not in text_of(test.node):
            yield fact("RED408", "asserts in a thread that nobody waits for", each.node)


def _ancestors(node: Node, top: Node) -> Iterator[Node]:
    parent = node.parent
    while parent is not None and parent.id != top.id:
        yield parent
        parent = parent.parent


def _is_unreachable(node: Node, top: Node) -> bool:
    inner = node
    for parent in _ancestors(node, top):
        if parent.type == "block":
            before = [each for each in children(parent) if each.end_byte <= inner.start_byte]
            if any(text_of(each).startswith("return") for each in before):
                return True
        inner = parent
    return False


# --- the whole file ---------------------------------------------------------------------------------------------------


def _of_file(path: str, root: Node, context: TestContext) -> Iterator[Fact]:
    def fact(code: str, message: str, node: Node) -> Fact:
        return Fact(code=code, path=path, line=line_of(node), message=message)

    for attribute, node in inner_attributes(root):
        if attribute.startswith(("cfg (", "cfg_attr")):
            yield fact("RED208", f"is left out by `#![{attribute.replace(' ', '')}]`", node)
        elif attribute == "no_main" or attribute.startswith("feature"):
            yield fact("RED107", f"`#![{attribute}]` changes how results come about", node)
    planned = {name.rpartition(".")[2] for name in context.planned}
    for item in items_in(root):
        if item.node.type == "macro_definition" and item.name in _SHADOWS:
            yield fact("RED107", f"a macro of its own takes the place of `{item.name}!`", item.node)
        elif item.node.type == "function_item" and item.name == "main" and not item.modules and is_test_file(path):
            yield fact("RED107", "a `main` of its own takes the place of the test runner", item.node)
        elif item.node.type in {"function_item", "struct_item", "enum_item"} and item.name in planned:
            yield fact("RED405", f"defines `{item.name}` itself, which the story is to bring", item.node)
        elif item.node.type == "foreign_mod_item":
            yield fact("RED107", "calls functions outside of Rust", item.node)
    for node in walk(root):
        if node.type == "call_expression":
            yield from _of_call(node, fact)


def _of_call(node: Node, fact: Make) -> Iterator[Fact]:
    callee = text_of(part(node, "function"))
    if _ENDING.search(callee):
        yield fact("RED304", f"`{callee}` ends the whole run", node)
    elif _REACHING.search(callee):
        yield fact("RED107", f"`{callee}` changes how results come about", node)
    elif _CHANCE.search(callee):
        yield fact("RED505", f"depends on `{callee}`", node)
    elif _WRITES.search(callee) and _SAMPLES.search(text_of(part(node, "arguments"))):
        yield fact("RED413", "writes the sample that it compares with", node)
