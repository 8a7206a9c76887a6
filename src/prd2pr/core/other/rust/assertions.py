"""Where a Rust test can fail: macros that assert, panics, and helpers of the file that do either."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.core.other.rust.files import root_of
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


def asserting(_: str, text: str) -> frozenset[str]:
    return helpers_in(root_of(text))


def idle_in(root: Node) -> frozenset[str]:
    """Functions of the file that are called like assertions and only return what they found."""
    names = {text_of(part(node, "name")) for node in walk(root) if node.type == "function_item"}
    return frozenset(names) - helpers_in(root)


def assertions_in(node: Node, helpers: frozenset[str], idle: frozenset[str] = frozenset()) -> Iterator[Assertion]:
    """`idle`: functions whose answer somebody has to look at."""
    for each in walk(node):
        name = macro_name(each)
        if name in ASSERTS | PANICS or name.startswith("assert_"):
            yield Assertion(each, name, arguments_of(each))
        elif each.type == "call_expression":
            callee = text_of(part(each, "function"))
            last = callee.rpartition("::")[2].rpartition(".")[2]
            named = last.startswith(_HELPERS) and last not in {"expect", "expect_err"}
            if last in helpers or (named and not (callee in idle and is_dropped(each))):
                yield Assertion(each, "helper")


def is_dropped(call: Node) -> bool:
    """`let _ = …;`, `….ok();`, or a statement of its own: nobody looks at what it returns."""
    holder = call.parent
    while holder is not None and holder.type in {"field_expression", "call_expression"}:
        if text_of(part(holder, "field")) in {"unwrap", "expect", "unwrap_err", "is_err", "is_ok"}:
            return False
        holder = holder.parent
    if holder is None:
        return False
    pattern = part(holder, "pattern") if holder.type == "let_declaration" else None
    return holder.type == "expression_statement" or (pattern is not None and text_of(pattern).startswith("_"))


def is_conditional(node: Node, top: Node) -> bool:
    """Whether something decides that it is reached: also `let … else`."""
    inner, parent = node, node.parent
    while parent is not None and inner.id != top.id:
        if parent.type in CONDITIONS or (parent.type == "let_declaration" and part(parent, "alternative") == inner):
            return True
        inner, parent = parent, parent.parent
    return False
