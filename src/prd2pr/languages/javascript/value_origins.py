"""Find the literal that a named expected value comes from: a constant, or a column of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prd2pr.languages.javascript.test_calls import FUNCTIONS
from prd2pr.languages.syntax.nodes import get_field, get_text, list_children, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_SCALARS = frozenset({"number", "string", "true", "false", "unary_expression"})
_ITERATORS = frozenset({"forEach", "map", "each", "for"})
CaseColumn = str | int | None  # position in a row: a key, an index, or None for the row itself


class ValueOrigins:
    """The origins of the values in one test file.

    A name that is also passed to the tested code is not an expected value.
    """

    def __init__(self, root: Node) -> None:
        self._root = root

    def find_values(self, node: Node) -> list[Node]:
        """Return the literals that the expected value may have, or nothing if they are unknown."""
        holder, column = self._resolve(node)
        if holder is None:
            return []
        return [leaf for cell in _list_cells(holder, column) for leaf in _list_values(cell)]

    def find_holder(self, node: Node) -> Node | None:
        return self._resolve(node)[0]

    def _resolve(self, node: Node) -> tuple[Node | None, CaseColumn]:
        """Return the array, object or literal that contains the value, and the column."""
        if node.type == "member_expression":
            name, key = get_field(node, "object"), get_text(get_field(node, "property"))
            if name is None or name.type != "identifier":
                return None, None
            rows, column = self._find_rows(name)
            return (rows, key) if rows is not None and column is None and self._is_safe_key(name, key) else (None, None)
        if node.type == "subscript_expression":
            name = get_field(node, "object")
            return (
                (self._find_constant(name), None) if name is not None and self._is_only_expected(name) else (None, None)
            )
        if node.type != "identifier":
            return None, None
        rows, column = self._find_rows(node)
        if rows is not None:
            return (rows, column) if self._is_only_expected(node) else (None, None)
        return (self._find_constant(node), None) if self._is_only_expected(node) else (None, None)

    # --- resolving names -----------------------------------------------------------------------------------

    def _find_constant(self, name: Node) -> Node | None:
        """Return a constant such as `const want = [1, 2]`, including uses through a call such as `cases.slice(1)`."""
        while name.type in {"call_expression", "member_expression", "as_expression", "parenthesized_expression"}:
            inner = get_field(name, "function") or get_field(name, "object") or next(iter(list_children(name)), None)
            if inner is None:
                return None
            name = inner
        if name.type in {"array", "object", *_SCALARS}:
            return name
        found = [
            get_field(each, "value")
            for each in walk(self._root)
            if each.type == "variable_declarator" and get_text(get_field(each, "name")) == get_text(name)
        ]
        value = found[0] if len(found) == 1 else None
        if value is not None and value.type == "as_expression":
            value = next(iter(list_children(value)), None)
        return value if value is not None and value.type in {"array", "object", *_SCALARS} else None

    def _find_rows(self, name: Node) -> tuple[Node | None, CaseColumn]:
        """Return the table from which a loop or callback takes the name's values, and the name's column in it."""
        parent = name.parent
        while parent is not None:
            if parent.type == "for_in_statement":
                column = _find_column(get_field(parent, "left"), get_text(name))
                right = get_field(parent, "right")
                if column != _ABSENT and right is not None:
                    return self._find_constant(right), column
            elif parent.type in FUNCTIONS:
                found = self._find_callback_rows(parent, get_text(name))
                if found is not None:
                    return found
            parent = parent.parent
        return None, None

    def _find_callback_rows(self, function: Node, name: str) -> tuple[Node | None, CaseColumn] | None:
        call = function.parent.parent if function.parent is not None else None
        if call is None or call.type != "call_expression":
            return None
        callee = get_field(call, "function")
        parameters = list_children(get_field(function, "parameters")) or list(
            filter(None, [get_field(function, "parameter")])
        )
        if callee is None or not parameters:
            return None
        if callee.type == "call_expression":  # as in test.each(table)(title, callback)
            table = next(iter(list_children(get_field(callee, "arguments"))), None)
            word = get_text(get_field(callee, "function")).rpartition(".")[2]
        else:
            table, word = get_field(callee, "object"), get_text(get_field(callee, "property"))
        spread = callee.type == "call_expression" and len(parameters) > 1
        column = _find_position(parameters, name) if spread else _find_column(parameters[0], name)
        if word not in _ITERATORS or table is None or column == _ABSENT:
            return None
        return self._find_constant(table), column

    # --- whether only expectations use the value -----------------------------------------------------------

    def _is_only_expected(self, name: Node) -> bool:
        """Return whether the name is used only as the expected value of assertions."""
        uses = [each for each in walk(self._root) if each.type == "identifier" and get_text(each) == get_text(name)]
        return all(_is_binding(each) or _is_expected_position(each) for each in uses)

    def _is_safe_key(self, name: Node, key: str) -> bool:
        """Return whether `row.want` is used only as an expected value and the row is never used as a whole."""
        uses = [each for each in walk(self._root) if each.type == "identifier" and get_text(each) == get_text(name)]
        for each in uses:
            parent = each.parent
            if _is_binding(each):
                continue
            if parent is None or parent.type != "member_expression":
                return False
            if get_text(get_field(parent, "property")) == key and not _is_expected_position(parent):
                return False
        return True


_ABSENT = -1


def _find_column(pattern: Node | None, name: str) -> CaseColumn:
    """Return the part of the pattern that has this name: None for the whole pattern, `_ABSENT` if no part has it."""
    if pattern is not None and pattern.type in {"required_parameter", "lexical_declaration", "variable_declarator"}:
        pattern = (
            get_field(pattern, "pattern") or get_field(pattern, "name") or next(iter(list_children(pattern)), None)
        )
    if pattern is None:
        return _ABSENT
    if pattern.type == "identifier":
        return None if get_text(pattern) == name else _ABSENT
    if pattern.type == "array_pattern":
        places = [at for at, each in enumerate(list_children(pattern)) if get_text(each) == name]
        return places[0] if places else _ABSENT
    if pattern.type == "object_pattern":
        for each in list_children(pattern):
            if each.type == "shorthand_property_identifier_pattern" and get_text(each) == name:
                return name
            if each.type == "pair_pattern" and get_text(get_field(each, "value")) == name:
                return get_text(get_field(each, "key"))
    return _ABSENT


def _find_position(parameters: list[Node], name: str) -> int:
    """Return the parameter's position in the list. A table's row is spread over the parameters."""
    return next((at for at, each in enumerate(parameters) if _find_column(each, name) is None), _ABSENT)


def _list_cells(holder: Node, column: CaseColumn) -> list[Node]:
    if column is None:
        return [holder]
    found = []
    for row in list_children(holder) if holder.type == "array" else []:
        if isinstance(column, int) and row.type == "array" and column < len(list_children(row)):
            found.append(list_children(row)[column])
        elif isinstance(column, str) and row.type == "object":
            pairs = [
                each for each in list_children(row, "pair") if get_text(get_field(each, "key")).strip("'\"") == column
            ]
            found += [value for each in pairs if (value := get_field(each, "value")) is not None]
    return found


def _list_values(node: Node) -> list[Node]:
    """Return every literal in the node, or nothing if a value is computed."""
    if node.type in _SCALARS:
        return [node]
    if node.type == "array":
        return [leaf for each in list_children(node) for leaf in _list_values(each)]
    if node.type == "object":
        values = [get_field(each, "value") for each in list_children(node, "pair")]
        return [leaf for each in values if each is not None for leaf in _list_values(each)]
    return []


def _is_binding(node: Node) -> bool:
    parent = node.parent
    while parent is not None and parent.type in {
        "array_pattern",
        "object_pattern",
        "pair_pattern",
        "required_parameter",
        "formal_parameters",
    }:
        parent = parent.parent
    if parent is None:
        return False
    if parent.type in FUNCTIONS:
        return node.start_byte < (get_field(parent, "body") or parent).start_byte or parent == node.parent
    bound = get_field(parent, "name") or get_field(parent, "left")
    return (
        parent.type in {"variable_declarator", "for_in_statement"}
        and bound is not None
        and (bound.start_byte <= node.start_byte < bound.end_byte)
    )


def _is_expected_position(node: Node) -> bool:
    """Return whether the node is an assertion's second argument, a matcher's argument, a length or a condition."""
    parent = node.parent
    while parent is not None and parent.type in {"subscript_expression", "member_expression"}:
        if get_text(get_field(parent, "property")) == "length":
            return True
        node, parent = parent, parent.parent
    if parent is None:
        return False
    if parent.type in {"if_statement", "parenthesized_expression", "ternary_expression", "template_substitution"}:
        return True
    if parent.type != "arguments" or parent.parent is None:
        return False
    callee = get_text(get_field(parent.parent, "function"))
    place = [each.id for each in list_children(parent)].index(node.id)
    return place == (0 if callee.rpartition(".")[2].startswith("to") else 1)
