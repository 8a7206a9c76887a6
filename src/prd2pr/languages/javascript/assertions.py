"""Find the assertions of JavaScript tests: node:assert, `expect`, and helpers that use them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.languages.javascript.imports import read_imports
from prd2pr.languages.syntax.nodes import get_field, get_line, get_text, join_tokens, list_children, walk

if TYPE_CHECKING:
    from tree_sitter import Node

ASSERT_MODULES = frozenset({"assert", "node:assert", "assert/strict", "node:assert/strict", "chai", "power-assert"})
EXPECT_MODULES = frozenset({"vitest", "@jest/globals", "expect", "chai", "bun:test"})
LITERALS = frozenset({"number", "string", "true", "false", "null", "undefined", "regex"})
_HELPERS = ("assert", "expect", "check", "verify", "should")


@dataclass(frozen=True)
class Assertion:
    node: Node
    form: str  # equal, ok, throws, toBe … ; `not.toBe` if negated
    subject: Node | None  # value to check
    expected: Node | None

    @property
    def line(self) -> int:
        return get_line(self.node)


@dataclass(frozen=True)
class AssertionNames:
    """The names that assertions in a file use."""

    asserts: frozenset[str]  # such as assert and a
    functions: frozenset[str]  # imported one by one, such as equal and deepEqual
    expects: frozenset[str]
    helpers: frozenset[str]  # asserting functions of the file, and imported ones judged by name


def find_assertion_names(root: Node) -> AssertionNames:
    imports = list(read_imports(root))
    whole = {
        each.local
        for each in imports
        if each.source in ASSERT_MODULES and each.name in {"default", "*", "strict", "assert"}
    }
    single = {each.local for each in imports if each.source in ASSERT_MODULES} - whole
    expects = {each.local for each in imports if each.source in EXPECT_MODULES and each.name == "expect"}
    bare = AssertionNames(
        frozenset(whole | {"assert"}), frozenset(single), frozenset(expects | {"expect"}), frozenset()
    )
    named = {each.local for each in imports if each.is_own and each.local.lower().startswith(_HELPERS)}
    return AssertionNames(bare.asserts, bare.functions, bare.expects, frozenset(named | set(_find_helpers(root, bare))))


def _find_helpers(root: Node, names: AssertionNames) -> Iterator[str]:
    for node in walk(root):
        if node.type == "function_declaration" and any(find_assertions(node, names)):
            yield get_text(get_field(node, "name"))
        elif node.type == "variable_declarator":
            value = get_field(node, "value")
            if (
                value is not None
                and value.type in {"arrow_function", "function_expression"}
                and any(find_assertions(value, names))
            ):
                yield get_text(get_field(node, "name"))


def find_assertions(node: Node, names: AssertionNames) -> Iterator[Assertion]:
    for each in walk(node):
        found = parse_assertion(each, names) if each.type == "call_expression" else None
        if found is not None:
            yield found


def parse_assertion(node: Node, names: AssertionNames) -> Assertion | None:
    callee = get_field(node, "function")
    arguments = list_children(get_field(node, "arguments"))
    if callee is None:
        return None
    if callee.type == "identifier":
        return _parse_plain_call(node, get_text(callee), arguments, names)
    if callee.type != "member_expression":
        return None
    chain = _list_members(callee)
    if chain[0] in names.asserts or chain[:2] == ["t", "assert"] or (len(chain) > 2 and chain[1] == "assert"):
        return Assertion(node, chain[-1], *_first_two(arguments))
    return _parse_expect_call(node, callee, arguments, names)


def _parse_plain_call(node: Node, name: str, arguments: list[Node], names: AssertionNames) -> Assertion | None:
    if name in names.asserts:
        return Assertion(node, "ok", *_first_two(arguments))
    if name in names.functions:
        return Assertion(node, name, *_first_two(arguments))
    if name in names.helpers:
        return Assertion(node, "helper", *_first_two(arguments))
    return None


def _parse_expect_call(node: Node, callee: Node, arguments: list[Node], names: AssertionNames) -> Assertion | None:
    """Parse `expect(x).not.toBe(y)`. The returned assertion is the call of the matcher."""
    words: list[str] = []
    inner: Node | None = callee
    while inner is not None and inner.type == "member_expression":
        words.insert(0, get_text(get_field(inner, "property")))
        inner = get_field(inner, "object")
    if inner is None or inner.type != "call_expression":
        return None
    head = get_field(inner, "function")
    name = get_text(head)
    if name not in names.expects and name.partition(".")[0] not in names.expects:
        return None
    subjects = list_children(get_field(inner, "arguments"))
    form = ("not." if "not" in words[:-1] else "") + words[-1]
    return Assertion(node, form, subjects[0] if subjects else None, arguments[0] if arguments else None)


def _list_members(callee: Node) -> list[str]:
    words: list[str] = []
    inner: Node | None = callee
    while inner is not None and inner.type == "member_expression":
        words.insert(0, get_text(get_field(inner, "property")))
        inner = get_field(inner, "object")
    return [get_text(inner), *words]


def _first_two(arguments: list[Node]) -> tuple[Node | None, Node | None]:
    return (arguments[0] if arguments else None), (arguments[1] if len(arguments) > 1 else None)


def is_constant(node: Node | None) -> bool:
    """Return whether the value does not depend on the project's code."""
    if node is None:
        return False
    if node.type in LITERALS or get_text(node) == "undefined":
        return True
    parts = {"array", "object", "pair", "unary_expression", "binary_expression", "parenthesized_expression"}
    return node.type in parts and all(
        is_constant(each) for each in list_children(node) if each.type != "property_identifier"
    )


def is_same_expression(one: Node | None, other: Node | None) -> bool:
    return one is not None and other is not None and join_tokens(one) == join_tokens(other)
