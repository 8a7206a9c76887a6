"""Where an expected value that a test has under a name was written down: a constant, or a column of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prd2pr.core.other.javascript.calls import FUNCTIONS
from prd2pr.core.other.syntax import children, part, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_SCALARS = frozenset({"number", "string", "true", "false", "unary_expression"})
_EACH = frozenset({"forEach", "map", "each", "for"})
Column = str | int | None  # of a row: a key, a place, or the row itself


class Tables:
    """Names of one test file. A name that is also given to the code under test stands for no expectation."""

    def __init__(self, root: Node) -> None:
        self._root = root

    def values_of(self, node: Node) -> list[Node]:
        """Literals of which the expected value is one; none where that cannot be told."""
        holder, column = self._found(node)
        if holder is None:
            return []
        return [leaf for cell in _cells(holder, column) for leaf in _leaves(cell)]

    def holder_of(self, node: Node) -> Node | None:
        return self._found(node)[0]

    def _found(self, node: Node) -> tuple[Node | None, Column]:
        """The array, object or literal that holds it, and the column."""
        if node.type == "member_expression":
            name, key = part(node, "object"), text_of(part(node, "property"))
            if name is None or name.type != "identifier":
                return None, None
            rows, column = self._bound(name)
            return (rows, key) if rows is not None and column is None and self._is_safe_key(name, key) else (None, None)
        if node.type == "subscript_expression":
            name = part(node, "object")
            return (self._written(name), None) if name is not None and self._only_expected(name) else (None, None)
        if node.type != "identifier":
            return None, None
        rows, column = self._bound(node)
        if rows is not None:
            return (rows, column) if self._only_expected(node) else (None, None)
        return (self._written(node), None) if self._only_expected(node) else (None, None)

    # --- what a name stands for -----------------------------------------------------------------------------------

    def _written(self, name: Node) -> Node | None:
        """A constant: `const want = [1, 2]`, also one that is narrowed by a call, as `cases.slice(1)`."""
        while name.type in {"call_expression", "member_expression", "as_expression", "parenthesized_expression"}:
            inner = part(name, "function") or part(name, "object") or next(iter(children(name)), None)
            if inner is None:
                return None
            name = inner
        if name.type in {"array", "object", *_SCALARS}:
            return name
        found = [
            part(each, "value")
            for each in walk(self._root)
            if each.type == "variable_declarator" and text_of(part(each, "name")) == text_of(name)
        ]
        value = found[0] if len(found) == 1 else None
        if value is not None and value.type == "as_expression":
            value = next(iter(children(value)), None)
        return value if value is not None and value.type in {"array", "object", *_SCALARS} else None

    def _bound(self, name: Node) -> tuple[Node | None, Column]:
        """Rows of a loop or of a callback that goes through a table, and which part of a row the name is."""
        parent = name.parent
        while parent is not None:
            if parent.type == "for_in_statement":
                column = _column(part(parent, "left"), text_of(name))
                right = part(parent, "right")
                if column != _NOT_THERE and right is not None:
                    return self._written(right), column
            elif parent.type in FUNCTIONS:
                found = self._of_callback(parent, text_of(name))
                if found is not None:
                    return found
            parent = parent.parent
        return None, None

    def _of_callback(self, function: Node, name: str) -> tuple[Node | None, Column] | None:
        call = function.parent.parent if function.parent is not None else None
        if call is None or call.type != "call_expression":
            return None
        callee = part(call, "function")
        parameters = children(part(function, "parameters")) or list(filter(None, [part(function, "parameter")]))
        if callee is None or not parameters:
            return None
        if callee.type == "call_expression":  # test.each(table)(title, callback)
            table = next(iter(children(part(callee, "arguments"))), None)
            word = text_of(part(callee, "function")).rpartition(".")[2]
        else:
            table, word = part(callee, "object"), text_of(part(callee, "property"))
        spread = callee.type == "call_expression" and len(parameters) > 1
        column = _place(parameters, name) if spread else _column(parameters[0], name)
        if word not in _EACH or table is None or column == _NOT_THERE:
            return None
        return self._written(table), column

    # --- whether changing it changes what is expected alone -----------------------------------------------------------

    def _only_expected(self, name: Node) -> bool:
        """Everywhere but where it is bound it stands in an assertion, and not in a call of anything else there."""
        uses = [each for each in walk(self._root) if each.type == "identifier" and text_of(each) == text_of(name)]
        return all(_is_bound_here(each) or _is_expected_place(each) for each in uses)

    def _is_safe_key(self, name: Node, key: str) -> bool:
        """`row.want` is asked for only where it is expected, and the row is never handed on as a whole."""
        uses = [each for each in walk(self._root) if each.type == "identifier" and text_of(each) == text_of(name)]
        for each in uses:
            parent = each.parent
            if _is_bound_here(each):
                continue
            if parent is None or parent.type != "member_expression":
                return False
            if text_of(part(parent, "property")) == key and not _is_expected_place(parent):
                return False
        return True


_NOT_THERE = -1


def _column(pattern: Node | None, name: str) -> Column:
    """Which part of what is taken apart has the name; None: the whole; `_NOT_THERE`: none."""
    if pattern is not None and pattern.type in {"required_parameter", "lexical_declaration", "variable_declarator"}:
        pattern = part(pattern, "pattern") or part(pattern, "name") or next(iter(children(pattern)), None)
    if pattern is None:
        return _NOT_THERE
    if pattern.type == "identifier":
        return None if text_of(pattern) == name else _NOT_THERE
    if pattern.type == "array_pattern":
        places = [at for at, each in enumerate(children(pattern)) if text_of(each) == name]
        return places[0] if places else _NOT_THERE
    if pattern.type == "object_pattern":
        for each in children(pattern):
            if each.type == "shorthand_property_identifier_pattern" and text_of(each) == name:
                return name
            if each.type == "pair_pattern" and text_of(part(each, "value")) == name:
                return text_of(part(each, "key"))
    return _NOT_THERE


def _place(parameters: list[Node], name: str) -> int:
    """A row is spread over the parameters."""
    return next((at for at, each in enumerate(parameters) if _column(each, name) is None), _NOT_THERE)


def _cells(holder: Node, column: Column) -> list[Node]:
    if column is None:
        return [holder]
    found = []
    for row in children(holder) if holder.type == "array" else []:
        if isinstance(column, int) and row.type == "array" and column < len(children(row)):
            found.append(children(row)[column])
        elif isinstance(column, str) and row.type == "object":
            pairs = [each for each in children(row, "pair") if text_of(part(each, "key")).strip("'\"") == column]
            found += [value for each in pairs if (value := part(each, "value")) is not None]
    return found


def _leaves(node: Node) -> list[Node]:
    """Every value in it; of a computed one nothing is known."""
    if node.type in _SCALARS:
        return [node]
    if node.type == "array":
        return [leaf for each in children(node) for leaf in _leaves(each)]
    if node.type == "object":
        values = [part(each, "value") for each in children(node, "pair")]
        return [leaf for each in values if each is not None for leaf in _leaves(each)]
    return []


def _is_bound_here(node: Node) -> bool:
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
        return node.start_byte < (part(parent, "body") or parent).start_byte or parent == node.parent
    bound = part(parent, "name") or part(parent, "left")
    return (
        parent.type in {"variable_declarator", "for_in_statement"}
        and bound is not None
        and (bound.start_byte <= node.start_byte < bound.end_byte)
    )


def _is_expected_place(node: Node) -> bool:
    """The second thing that is given to an assertion, or the only one of a matcher; or its length, or a condition."""
    parent = node.parent
    while parent is not None and parent.type in {"subscript_expression", "member_expression"}:
        if text_of(part(parent, "property")) == "length":
            return True
        node, parent = parent, parent.parent
    if parent is None:
        return False
    if parent.type in {"if_statement", "parenthesized_expression", "ternary_expression", "template_substitution"}:
        return True
    if parent.type != "arguments" or parent.parent is None:
        return False
    callee = text_of(part(parent.parent, "function"))
    place = [each.id for each in children(parent)].index(node.id)
    return place == (0 if callee.rpartition(".")[2].startswith("to") else 1)
