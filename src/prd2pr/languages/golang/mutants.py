"""Mutants on changed lines of Go: other operators, other numbers, negations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.languages import text_mutants
from prd2pr.languages.changed_lines import find_changed_lines
from prd2pr.languages.golang.files import parse_source
from prd2pr.languages.golang.functions import find_functions
from prd2pr.languages.mutation_plan import Fault
from prd2pr.languages.syntax import get_field, get_text, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "&&": "||", "||": "&&",
}  # fmt: skip
_ASSIGNED = {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*="}
_TEXTS = frozenset({"interpreted_string_literal", "raw_string_literal"})


def make_mutants(path: str, before: str, after: str) -> tuple[Fault, ...]:
    root = parse_source(after)
    names = [(each.node.start_byte, each.node.end_byte, each.name) for each in find_functions(root)]
    return text_mutants.make_text_mutants(path, find_changed_lines(before or None, after), names, _find_changes(root))


def _find_changes(root: Node) -> Iterator[tuple[Node, str]]:
    for node in walk(root):
        operator = get_field(node, "operator")
        word = get_text(operator)
        if node.type == "binary_expression" and operator is not None and word in _OPERATORS:
            if not (word == "+" and any(each.type in _TEXTS for each in walk(node))):  # strings cannot be subtracted
                yield operator, _OPERATORS[word]
        elif node.type == "assignment_statement" and operator is not None and word in _ASSIGNED:
            if not any(each.type in _TEXTS for each in walk(node)):
                yield operator, _ASSIGNED[word]
        elif node.type in {"inc_statement", "dec_statement"}:
            sign = node.children[-1]
            yield sign, "--" if get_text(sign) == "++" else "++"
        elif node.type == "int_literal" and not _is_length(node):
            yield node, f"({get_text(node)} + 1)"
        elif node.type in {"true", "false"}:
            yield node, "false" if node.type == "true" else "true"
        elif node.type == "unary_expression" and word == "!":
            yield node, f"({get_text(get_field(node, 'operand'))})"


def _is_length(node: Node) -> bool:
    """Return whether the number is an array's length, part of a type."""
    return node.parent is not None and node.parent.type == "array_type"
