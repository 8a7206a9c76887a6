"""Mutants on changed lines of JavaScript: other operators, other numbers, negations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.languages import text_mutants
from prd2pr.languages.changed_lines import find_changed_lines
from prd2pr.languages.javascript.files import select_grammar
from prd2pr.languages.javascript.functions import FUNCTION_KINDS, find_functions
from prd2pr.languages.mutation_plan import Fault
from prd2pr.languages.syntax import get_field, get_text, parse_text, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "===": "!==", "!==": "===", "==": "!=", "!=": "==",
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "&&": "||", "||": "&&",
}  # fmt: skip
_TYPES = frozenset(
    {"type_annotation", "literal_type", "type_alias_declaration", "interface_declaration", "type_arguments"}
)


def make_mutants(path: str, before: str, after: str) -> tuple[Fault, ...]:
    root = parse_text(select_grammar(path), after)
    lines = find_changed_lines(before or None, after)
    names = [(each.node.start_byte, each.node.end_byte, each.name) for each in find_functions(root)]
    return text_mutants.make_text_mutants(path, lines, names, _find_changes(root))


def _find_changes(root: Node) -> Iterator[tuple[Node, str]]:
    """Yield nodes with their replacements."""
    for node in walk(root):
        if node.type == "binary_expression":
            operator = get_field(node, "operator")
            if operator is not None and get_text(operator) in _OPERATORS and not _joins_texts(node):
                yield operator, _OPERATORS[get_text(operator)]
        elif node.type == "number" and not _is_type(node):
            yield node, f"({get_text(node)} + 1)"
        elif node.type in {"true", "false"} and not _is_type(node):
            yield node, "false" if node.type == "true" else "true"
        elif node.type == "unary_expression" and get_text(get_field(node, "operator")) == "!":
            yield node, f"({get_text(get_field(node, 'argument'))})"


def _joins_texts(node: Node) -> bool:
    return any(
        each.type in {"string", "template_string"} for each in walk(node) if each.parent and _is_same_chain(each, node)
    )


def _is_same_chain(each: Node, node: Node) -> bool:
    """Return whether the node is in the same chain of `+`, not in a call inside it."""
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
