"""Mutants on changed lines of Rust: other operators, other numbers, negations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.languages import text_mutants
from prd2pr.languages.changed_lines import find_changed_lines
from prd2pr.languages.mutation_plan import Fault
from prd2pr.languages.rust.files import parse_source
from prd2pr.languages.rust.functions import find_functions, format_item_name
from prd2pr.languages.syntax import get_field, get_text, list_children, walk

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


def make_mutants(path: str, before: str, after: str) -> tuple[Fault, ...]:
    root = parse_source(after)
    names = [(each.node.start_byte, each.node.end_byte, format_item_name(each)) for each in find_functions(root)]
    return text_mutants.make_text_mutants(path, find_changed_lines(before or None, after), names, _find_changes(root))


def _find_changes(root: Node) -> Iterator[tuple[Node, str]]:
    """Yield changes outside macros, whose arguments are bare tokens."""
    for node in walk(root):
        operator = get_field(node, "operator")
        if node.type in _BINARY and operator is not None and get_text(operator) in _OPERATORS:
            if not any(each.type in _TEXTS for each in walk(node)):
                yield operator, _OPERATORS[get_text(operator)]
        elif node.type == "integer_literal" and not _is_inside(node, _TYPES | {"token_tree"}):
            yield node, f"({get_text(node)} ^ 1)"
        elif node.type == "boolean_literal" and not _is_inside(node, _TYPES | {"token_tree"}):
            yield node, "false" if get_text(node) == "true" else "true"
        elif node.type == "unary_expression" and get_text(node).startswith("!"):
            yield node, f"({get_text(list_children(node)[-1])})"


def _is_inside(node: Node, kinds: frozenset[str]) -> bool:
    """Return whether the node is in a type or pattern, where no expression is allowed."""
    parent = node.parent
    while parent is not None and parent.type not in {"block", "function_item"}:
        if parent.type in kinds:
            return True
        parent = parent.parent
    return False
