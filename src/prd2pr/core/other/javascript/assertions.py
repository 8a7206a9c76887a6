"""Assertions of node:assert, of `expect`, and of what a file builds on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.core.other.javascript.imports import imports_in
from prd2pr.core.other.syntax import children, line_of, part, text_of, tokens, walk

if TYPE_CHECKING:
    from tree_sitter import Node

ASSERT_MODULES = frozenset({"assert", "node:assert", "assert/strict", "node:assert/strict", "chai", "power-assert"})
EXPECT_MODULES = frozenset({"vitest", "@jest/globals", "expect", "chai", "bun:test"})
LITERALS = frozenset({"number", "string", "true", "false", "null", "undefined", "regex"})
_HELPERS = ("assert", "expect", "check", "verify", "should")


@dataclass(frozen=True)
class Assertion:
    node: Node
    form: str  # equal, ok, throws, toBe … ; `not.toBe` where it is turned round
    subject: Node | None  # what is looked at
    expected: Node | None

    @property
    def line(self) -> int:
        return line_of(self.node)


@dataclass(frozen=True)
class Asserting:
    """The names by which a file asserts."""

    asserts: frozenset[str]  # assert, a
    functions: frozenset[str]  # equal, deepEqual: imported by themselves
    expects: frozenset[str]
    helpers: frozenset[str]  # functions of the file that assert, and such of others by their names


def asserting(root: Node) -> Asserting:
    imports = list(imports_in(root))
    whole = {
        each.local
        for each in imports
        if each.source in ASSERT_MODULES and each.name in {"default", "*", "strict", "assert"}
    }
    single = {each.local for each in imports if each.source in ASSERT_MODULES} - whole
    expects = {each.local for each in imports if each.source in EXPECT_MODULES and each.name == "expect"}
    bare = Asserting(frozenset(whole | {"assert"}), frozenset(single), frozenset(expects | {"expect"}), frozenset())
    named = {each.local for each in imports if each.is_own and each.local.lower().startswith(_HELPERS)}
    return Asserting(bare.asserts, bare.functions, bare.expects, frozenset(named | set(_helpers(root, bare))))


def _helpers(root: Node, names: Asserting) -> Iterator[str]:
    for node in walk(root):
        if node.type == "function_declaration" and any(assertions_in(node, names)):
            yield text_of(part(node, "name"))
        elif node.type == "variable_declarator":
            value = part(node, "value")
            if (
                value is not None
                and value.type in {"arrow_function", "function_expression"}
                and any(assertions_in(value, names))
            ):
                yield text_of(part(node, "name"))


def assertions_in(node: Node, names: Asserting) -> Iterator[Assertion]:
    for each in walk(node):
        found = assertion_of(each, names) if each.type == "call_expression" else None
        if found is not None:
            yield found


def assertion_of(node: Node, names: Asserting) -> Assertion | None:
    callee = part(node, "function")
    given = children(part(node, "arguments"))
    if callee is None:
        return None
    if callee.type == "identifier":
        return _plain(node, text_of(callee), given, names)
    if callee.type != "member_expression":
        return None
    chain = _chain(callee)
    if chain[0] in names.asserts or chain[:2] == ["t", "assert"] or (len(chain) > 2 and chain[1] == "assert"):
        return Assertion(node, chain[-1], *_first_two(given))
    return _expected(node, callee, given, names)


def _plain(node: Node, name: str, given: list[Node], names: Asserting) -> Assertion | None:
    if name in names.asserts:
        return Assertion(node, "ok", *_first_two(given))
    if name in names.functions:
        return Assertion(node, name, *_first_two(given))
    if name in names.helpers:
        return Assertion(node, "helper", *_first_two(given))
    return None


def _expected(node: Node, callee: Node, given: list[Node], names: Asserting) -> Assertion | None:
    """`expect(x).not.toBe(y)`: the call of the matcher is the assertion."""
    words: list[str] = []
    inner: Node | None = callee
    while inner is not None and inner.type == "member_expression":
        words.insert(0, text_of(part(inner, "property")))
        inner = part(inner, "object")
    if inner is None or inner.type != "call_expression":
        return None
    head = part(inner, "function")
    name = text_of(head)
    if name not in names.expects and name.partition(".")[0] not in names.expects:
        return None
    looked_at = children(part(inner, "arguments"))
    form = ("not." if "not" in words[:-1] else "") + words[-1]
    return Assertion(node, form, looked_at[0] if looked_at else None, given[0] if given else None)


def _chain(callee: Node) -> list[str]:
    words: list[str] = []
    inner: Node | None = callee
    while inner is not None and inner.type == "member_expression":
        words.insert(0, text_of(part(inner, "property")))
        inner = part(inner, "object")
    return [text_of(inner), *words]


def _first_two(given: list[Node]) -> tuple[Node | None, Node | None]:
    return (given[0] if given else None), (given[1] if len(given) > 1 else None)


def is_constant(node: Node | None) -> bool:
    """Says the same whatever the project's code does."""
    if node is None:
        return False
    if node.type in LITERALS or text_of(node) == "undefined":
        return True
    parts = {"array", "object", "pair", "unary_expression", "binary_expression", "parenthesized_expression"}
    return node.type in parts and all(
        is_constant(each) for each in children(node) if each.type != "property_identifier"
    )


def same(one: Node | None, other: Node | None) -> bool:
    return one is not None and other is not None and tokens(one) == tokens(other)
