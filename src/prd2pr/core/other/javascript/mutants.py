"""Small faults on changed lines of JavaScript: another operator, another number, the opposite."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.core.bite.changed_lines import changed_lines
from prd2pr.core.bite.plan import Fault
from prd2pr.core.other import faults
from prd2pr.core.other.javascript.files import grammar_of
from prd2pr.core.other.javascript.functions import FUNCTION_KINDS, functions_in
from prd2pr.core.other.syntax import parsed, part, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "===": "!==", "!==": "===", "==": "!=", "!=": "==",
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "&&": "||", "||": "&&",
}  # fmt: skip
_TYPES = frozenset(
    {"type_annotation", "literal_type", "type_alias_declaration", "interface_declaration", "type_arguments"}
)


def mutants(path: str, before: str, after: str) -> tuple[Fault, ...]:
    root = parsed(grammar_of(path), after)
    lines = changed_lines(before or None, after)
    names = [(each.node.start_byte, each.node.end_byte, each.name) for each in functions_in(root)]
    return faults.mutants(path, lines, names, _changes(root))


def _changes(root: Node) -> Iterator[tuple[Node, str]]:
    """A node, and what stands in its place."""
    for node in walk(root):
        if node.type == "binary_expression":
            operator = part(node, "operator")
            if operator is not None and text_of(operator) in _OPERATORS and not _joins_texts(node):
                yield operator, _OPERATORS[text_of(operator)]
        elif node.type == "number" and not _is_type(node):
            yield node, f"({text_of(node)} + 1)"
        elif node.type in {"true", "false"} and not _is_type(node):
            yield node, "false" if node.type == "true" else "true"
        elif node.type == "unary_expression" and text_of(part(node, "operator")) == "!":
            yield node, f"({text_of(part(node, 'argument'))})"


def _joins_texts(node: Node) -> bool:
    return any(
        each.type in {"string", "template_string"} for each in walk(node) if each.parent and _is_near(each, node)
    )


def _is_near(each: Node, node: Node) -> bool:
    """Part of the same chain of `+`, and not of a call inside of it."""
    parent = each.parent
    while parent is not None and parent.type == "binary_expression":
        if parent.id == node.id:
            return True
        parent = parent.parent
    return False


def _is_type(node: Node) -> bool:
    parent = node.parent
    while parent is not None and parent.type not in FUNCTION_KINDS:
        if parent.type in _TYPES:
            return True
        parent = parent.parent
    return False
