"""Whether a JavaScript function does anything but answer. In doubt it does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.core.other.javascript.functions import Function, functions_in
from prd2pr.core.other.syntax import children, part, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_PURE = frozenset(
    {
        "Array",
        "BigInt",
        "Boolean",
        "Date",
        "Error",
        "Intl",
        "JSON",
        "Map",
        "Math",
        "Number",
        "Object",
        "Promise",
        "RangeError",
        "RegExp",
        "Set",
        "String",
        "Symbol",
        "SyntaxError",
        "TypeError",
        "URL",
        "console",
        "decodeURIComponent",
        "encodeURIComponent",
        "isFinite",
        "isNaN",
        "parseFloat",
        "parseInt",
        "structuredClone",
    }
)
_CHANGING = frozenset(
    {
        "add",
        "append",
        "assign",
        "clear",
        "close",
        "commit",
        "defineProperty",
        "delete",
        "dispatch",
        "emit",
        "end",
        "enqueue",
        "fill",
        "insert",
        "log",
        "on",
        "once",
        "open",
        "pop",
        "post",
        "push",
        "put",
        "register",
        "remove",
        "reverse",
        "save",
        "send",
        "set",
        "shift",
        "sort",
        "splice",
        "subscribe",
        "unshift",
        "update",
        "write",
    }
)
_CHANGES = frozenset({"assignment_expression", "augmented_assignment_expression", "update_expression"})
_NAMES = frozenset({"identifier", "shorthand_property_identifier_pattern"})


class Effects:
    def __init__(self, root: Node) -> None:
        self._beside = {each.name for each in functions_in(root)}  # each is looked at for itself

    def of(self, function: Function) -> bool:
        """It changes something that it did not make, or calls something of which nobody knows what it does."""
        body = function.body
        if body is None:
            return False
        made, given = _made_in(body), _names(part(function.node, "parameters") or part(function.node, "parameter"))
        return any(self._is_effect(node, made, given) for node in walk(body))

    def _is_effect(self, node: Node, made: set[str], given: set[str]) -> bool:
        if node.type in _CHANGES:
            left = part(node, "left") or part(node, "argument")
            root = _root(left)
            return root not in made and not (root in given and left is not None and left.type == "identifier")
        if node.type in {"yield_expression", "import"} or text_of(part(node, "operator")) == "delete":
            return True
        if node.type not in {"call_expression", "new_expression"}:
            return False
        callee = part(node, "function") or part(node, "constructor")
        return callee is not None and self._is_unknown(callee, made, given)

    def _is_unknown(self, callee: Node, made: set[str], given: set[str]) -> bool:
        root = _root(callee)
        if callee.type != "member_expression":
            return root not in _PURE | made | self._beside
        if root in given:
            return text_of(part(callee, "property")) in _CHANGING
        return root not in _PURE | made and root != ""


def _made_in(body: Node) -> set[str]:
    """Names of its own: variables, and what is given to functions inside of it."""
    found: set[str] = set()
    for node in walk(body):
        if node.type == "variable_declarator":
            found |= _names(part(node, "name"))
        elif node.type == "for_in_statement":
            found |= _names(part(node, "left"))
        elif node.type in {"arrow_function", "function_expression", "function_declaration"}:
            found |= _names(part(node, "parameters") or part(node, "parameter"))
            found |= {text_of(part(node, "name"))} - {""}
    return found


def _names(node: Node | None) -> set[str]:
    return {text_of(each) for each in _each(node) if each.type in _NAMES}


def _each(node: Node | None) -> Iterator[Node]:
    yield from walk(node) if node is not None else ()


def _root(node: Node | None) -> str:
    """The name that a chain of members and calls begins with; empty where it begins with a literal or the like."""
    while node is not None and node.type not in {"identifier", "this", "super"}:
        inner = part(node, "object") or part(node, "function") or part(node, "constructor") or part(node, "expression")
        if inner is None and node.type in {"parenthesized_expression", "non_null_expression", "await_expression"}:
            inner = next(iter(children(node)), None)
        if inner is None:
            return ""
        node = inner
    return text_of(node)
