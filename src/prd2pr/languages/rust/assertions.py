"""Find the assertions of Rust tests: assertion macros, panics, and helpers that use them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.languages.rust.files import parse_source
from prd2pr.languages.rust.macros import Argument, read_macro_name, split_arguments
from prd2pr.languages.syntax.nodes import get_field, get_text, walk

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
    form: str  # the macro's name, or `helper`
    arguments: tuple[Argument, ...] = ()

    @property
    def compared(self) -> tuple[Argument, ...]:
        """The compared arguments, without the message."""
        return self.arguments[: 1 if self.form in HOLDS else 2]


def find_helpers(root: Node) -> frozenset[str]:
    """Return the functions of the file that assert."""
    return frozenset(
        get_text(get_field(node, "name"))
        for node in walk(root)
        if node.type == "function_item" and any(read_macro_name(each) in ASSERTS | PANICS for each in walk(node))
    )


def find_asserting_functions(_: str, text: str) -> frozenset[str]:
    return find_helpers(parse_source(text))


def find_idle_functions(root: Node) -> frozenset[str]:
    """Return the functions of the file that do not assert, whatever their names suggest."""
    names = {get_text(get_field(node, "name")) for node in walk(root) if node.type == "function_item"}
    return frozenset(names) - find_helpers(root)


def find_assertions(node: Node, helpers: frozenset[str], idle: frozenset[str] = frozenset()) -> Iterator[Assertion]:
    """Yield the assertions. `idle` lists functions that only return a result."""
    for each in walk(node):
        name = read_macro_name(each)
        if name in ASSERTS | PANICS or name.startswith("assert_"):
            yield Assertion(each, name, split_arguments(each))
        elif each.type == "call_expression":
            callee = get_text(get_field(each, "function"))
            last = callee.rpartition("::")[2].rpartition(".")[2]
            named = last.startswith(_HELPERS) and last not in {"expect", "expect_err"}
            if last in helpers or (named and not (callee in idle and is_result_dropped(each))):
                yield Assertion(each, "helper")


def is_result_dropped(call: Node) -> bool:
    """Return whether the result is ignored, as in `let _ = …;`, `….ok();` or a bare statement."""
    holder = call.parent
    while holder is not None and holder.type in {"field_expression", "call_expression"}:
        if get_text(get_field(holder, "field")) in {"unwrap", "expect", "unwrap_err", "is_err", "is_ok"}:
            return False
        holder = holder.parent
    if holder is None:
        return False
    pattern = get_field(holder, "pattern") if holder.type == "let_declaration" else None
    return holder.type == "expression_statement" or (pattern is not None and get_text(pattern).startswith("_"))


def is_conditional(node: Node, top: Node) -> bool:
    """Return whether the node is reached only under a condition, including `let … else`."""
    inner, parent = node, node.parent
    while parent is not None and inner.id != top.id:
        if parent.type in CONDITIONS or (
            parent.type == "let_declaration" and get_field(parent, "alternative") == inner
        ):
            return True
        inner, parent = parent, parent.parent
    return False
