"""Small faults on changed lines of Rust: another operator, another number, the opposite."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.core.bite.changed_lines import changed_lines
from prd2pr.core.bite.plan import Fault
from prd2pr.core.other import faults
from prd2pr.core.other.rust.files import root_of
from prd2pr.core.other.rust.functions import full_name, functions_in
from prd2pr.core.other.syntax import children, part, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "&&": "||", "||": "&&",
    "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=",
}  # fmt: skip
_TEXTS = frozenset({"string_literal", "raw_string_literal"})
_TYPES = frozenset({"array_type", "type_arguments", "match_pattern", "range_pattern", "field_expression"})
_BINARY = frozenset({"binary_expression", "compound_assignment_expr"})


def mutants(path: str, before: str, after: str) -> tuple[Fault, ...]:
    root = root_of(after)
    names = [(each.node.start_byte, each.node.end_byte, full_name(each)) for each in functions_in(root)]
    return faults.mutants(path, changed_lines(before or None, after), names, _changes(root))


def _changes(root: Node) -> Iterator[tuple[Node, str]]:
    """Nothing inside of macros: their arguments are bare words."""
    for node in walk(root):
        operator = part(node, "operator")
        if node.type in _BINARY and operator is not None and text_of(operator) in _OPERATORS:
            if not any(each.type in _TEXTS for each in walk(node)):
                yield operator, _OPERATORS[text_of(operator)]
        elif node.type == "integer_literal" and not _is_in(node, _TYPES | {"token_tree"}):
            yield node, f"({text_of(node)} ^ 1)"
        elif node.type == "boolean_literal" and not _is_in(node, _TYPES | {"token_tree"}):
            yield node, "false" if text_of(node) == "true" else "true"
        elif node.type == "unary_expression" and text_of(node).startswith("!"):
            yield node, f"({text_of(children(node)[-1])})"


def _is_in(node: Node, kinds: frozenset[str]) -> bool:
    """Part of a type or of a pattern, where no expression can stand."""
    parent = node.parent
    while parent is not None and parent.type not in {"block", "function_item"}:
        if parent.type in kinds:
            return True
        parent = parent.parent
    return False
