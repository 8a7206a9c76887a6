"""Small faults on changed lines of Go: another operator, another number, the opposite."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.core.bite.changed_lines import changed_lines
from prd2pr.core.bite.plan import Fault
from prd2pr.core.other import faults
from prd2pr.core.other.golang.files import root_of
from prd2pr.core.other.golang.functions import functions_in
from prd2pr.core.other.syntax import part, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "&&": "||", "||": "&&",
}  # fmt: skip
_ASSIGNED = {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*="}
_TEXTS = frozenset({"interpreted_string_literal", "raw_string_literal"})


def mutants(path: str, before: str, after: str) -> tuple[Fault, ...]:
    root = root_of(after)
    names = [(each.node.start_byte, each.node.end_byte, each.name) for each in functions_in(root)]
    return faults.mutants(path, changed_lines(before or None, after), names, _changes(root))


def _changes(root: Node) -> Iterator[tuple[Node, str]]:
    for node in walk(root):
        operator = part(node, "operator")
        word = text_of(operator)
        if node.type == "binary_expression" and operator is not None and word in _OPERATORS:
            if not (word == "+" and any(each.type in _TEXTS for each in walk(node))):  # texts cannot be subtracted
                yield operator, _OPERATORS[word]
        elif node.type == "assignment_statement" and operator is not None and word in _ASSIGNED:
            if not any(each.type in _TEXTS for each in walk(node)):
                yield operator, _ASSIGNED[word]
        elif node.type in {"inc_statement", "dec_statement"}:
            sign = node.children[-1]
            yield sign, "--" if text_of(sign) == "++" else "++"
        elif node.type == "int_literal" and not _is_length(node):
            yield node, f"({text_of(node)} + 1)"
        elif node.type in {"true", "false"}:
            yield node, "false" if node.type == "true" else "true"
        elif node.type == "unary_expression" and word == "!":
            yield node, f"({text_of(part(node, 'operand'))})"


def _is_length(node: Node) -> bool:
    """Of an array: part of a type."""
    return node.parent is not None and node.parent.type == "array_type"
