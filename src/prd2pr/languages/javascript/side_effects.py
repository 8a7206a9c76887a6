"""Determine whether a JavaScript function has side effects.

If that is unclear, the function is assumed to have them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.languages.javascript.functions import find_functions
from prd2pr.languages.syntax.functions import NamedFunction
from prd2pr.languages.syntax.nodes import get_field, get_text, list_children, walk
from prd2pr.languages.syntax.queries import SyntaxFile

if TYPE_CHECKING:
    from tree_sitter import Node

_PURE_WORDS = """
    Array BigInt Boolean Date Error Intl JSON Map Math Number Object Promise RangeError RegExp Set String Symbol
    SyntaxError TypeError URL console decodeURIComponent encodeURIComponent isFinite isNaN parseFloat parseInt
    structuredClone
"""
_PURE = frozenset(_PURE_WORDS.split())
_MUTATING_WORDS = """
    add append assign clear close commit defineProperty delete dispatch emit end enqueue fill insert log on once open
    pop post push put register remove reverse save send set shift sort splice subscribe unshift update write
"""
_MUTATING_METHODS = frozenset(_MUTATING_WORDS.split())
_CHANGES = frozenset({"assignment_expression", "augmented_assignment_expression", "update_expression"})
_NAMES = frozenset({"identifier", "shorthand_property_identifier_pattern"})


class SideEffects:
    def __init__(self, file: SyntaxFile) -> None:
        self._known_functions = {each.name for each in find_functions(file)}  # each is checked on its own

    def has_side_effects(self, function: NamedFunction) -> bool:
        """Return whether the function changes something that it did not create, or calls an unknown function."""
        body = function.body
        if body is None:
            return False
        made, given = (
            _find_local_names(body),
            _list_names(get_field(function.node, "parameters") or get_field(function.node, "parameter")),
        )
        return any(self._is_effect(node, made, given) for node in walk(body))

    def _is_effect(self, node: Node, made: set[str], given: set[str]) -> bool:
        if node.type in _CHANGES:
            left = get_field(node, "left") or get_field(node, "argument")
            root = _find_root_name(left)
            return root not in made and not (root in given and left is not None and left.type == "identifier")
        if node.type in {"yield_expression", "import"} or get_text(get_field(node, "operator")) == "delete":
            return True
        if node.type not in {"call_expression", "new_expression"}:
            return False
        callee = get_field(node, "function") or get_field(node, "constructor")
        return callee is not None and self._is_unknown(callee, made, given)

    def _is_unknown(self, callee: Node, made: set[str], given: set[str]) -> bool:
        root = _find_root_name(callee)
        if callee.type != "member_expression":
            return root not in _PURE | made | self._known_functions
        if root in given:
            return get_text(get_field(callee, "property")) in _MUTATING_METHODS
        return root not in _PURE | made and root != ""


def _find_local_names(body: Node) -> set[str]:
    """Return the local names: variables, and parameters of inner functions."""
    found: set[str] = set()
    for node in walk(body):
        if node.type == "variable_declarator":
            found |= _list_names(get_field(node, "name"))
        elif node.type == "for_in_statement":
            found |= _list_names(get_field(node, "left"))
        elif node.type in {"arrow_function", "function_expression", "function_declaration"}:
            found |= _list_names(get_field(node, "parameters") or get_field(node, "parameter"))
            found |= {get_text(get_field(node, "name"))} - {""}
    return found


def _list_names(node: Node | None) -> set[str]:
    return {get_text(each) for each in _walk_optional(node) if each.type in _NAMES}


def _walk_optional(node: Node | None) -> Iterator[Node]:
    yield from walk(node) if node is not None else ()


def _find_root_name(node: Node | None) -> str:
    """Return the first name in a chain of members and calls, or an empty string if it starts with a literal."""
    while node is not None and node.type not in {"identifier", "this", "super"}:
        inner = (
            get_field(node, "object")
            or get_field(node, "function")
            or get_field(node, "constructor")
            or get_field(node, "expression")
        )
        if inner is None and node.type in {"parenthesized_expression", "non_null_expression", "await_expression"}:
            inner = next(iter(list_children(node)), None)
        if inner is None:
            return ""
        node = inner
    return get_text(node)
