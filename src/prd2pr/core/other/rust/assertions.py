"""Where a Rust test can fail: macros that assert, panics, and helpers of the file that do either."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.core.other.rust.macros import Argument, arguments_of, macro_name
from prd2pr.core.other.syntax import part, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

EQUAL = frozenset({"assert_eq", "debug_assert_eq", "prop_assert_eq"})
UNEQUAL = frozenset({"assert_ne", "debug_assert_ne", "prop_assert_ne"})
HOLDS = frozenset({"assert", "debug_assert", "prop_assert"})
OTHERS = frozenset({"assert_matches", "assert_snapshot", "assert_debug_snapshot", "assert_json_snapshot"})
ASSERTS = EQUAL | UNEQUAL | HOLDS | OTHERS
PANICS = frozenset({"panic", "unreachable", "todo", "unimplemented"})
_HELPERS = ("assert", "expect", "check", "verify", "should")
CONDITIONS = frozenset({"if_expression", "match_arm", "match_expression", "while_expression", "for_expression",
                        "closure_expression", "else_clause", "loop_expression"})  # fmt: skip


@dataclass(frozen=True)
class Assertion:
    node: Node
    form: str  # the macro's name; `helper`
    arguments: tuple[Argument, ...] = ()

    @property
    def asked(self) -> tuple[Argument, ...]:
        """Without the message."""
        return self.arguments[: 1 if self.form in HOLDS else 2]


def helpers_in(root: Node) -> frozenset[str]:
    """Functions of the file that assert, and are no tests themselves."""
    return frozenset(
        text_of(part(node, "name"))
        for node in walk(root)
        if node.type == "function_item" and any(macro_name(each) in ASSERTS | PANICS for each in walk(node))
    )


def assertions_in(node: Node, helpers: frozenset[str]) -> Iterator[Assertion]:
    for each in walk(node):
        name = macro_name(each)
        if name in ASSERTS | PANICS or name.startswith("assert_"):
            yield Assertion(each, name, arguments_of(each))
        elif each.type == "call_expression":
            callee = text_of(part(each, "function"))
            last = callee.rpartition("::")[2].rpartition(".")[2]
            if callee in helpers or (last.startswith(_HELPERS) and last not in {"expect", "expect_err"}):
                yield Assertion(each, "helper")


def is_conditional(node: Node, top: Node) -> bool:
    """Whether something decides that it is reached: also `let … else`."""
    inner, parent = node, node.parent
    while parent is not None and inner.id != top.id:
        if parent.type in CONDITIONS or (parent.type == "let_declaration" and part(parent, "alternative") == inner):
            return True
        inner, parent = parent, parent.parent
    return False
