"""Find the expected values of Go tests, and replacements of the same type."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.languages.golang.assertions import AssertionNames, find_assertion_names, find_assertions, find_comparisons
from prd2pr.languages.golang.declared_tests import find_tests
from prd2pr.languages.golang.files import SYNTAX
from prd2pr.languages.syntax.expectations import Expectations
from prd2pr.languages.syntax.nodes import get_field, get_text, list_children, walk
from prd2pr.languages.syntax.queries import SyntaxFile

if TYPE_CHECKING:
    from tree_sitter import Node

_WANTED = re.compile(r"^(want|wants|wanted|exp|expect|expected|result|out)\w*$", re.IGNORECASE)
_EQUAL = frozenset({"Equal", "EqualValues", "Exactly"})


def _find_values(file: SyntaxFile, body: Node) -> Iterator[tuple[Node, str]]:
    names = find_assertion_names(file.root)
    for node in (*_find_compared(body, names), *_find_named(file, body), *_find_columns(body)):
        yield node, make_other_value(node)


def _find_compared(body: Node, names: AssertionNames) -> Iterator[Node]:
    """Yield the literals that a result is compared with in a condition or in a library's assertion."""
    for each in find_assertions(body, names):
        for operator, left, right in find_comparisons(each.condition):
            if operator in {"==", "!="}:
                yield from (side for side in (left, right) if make_other_value(side))
        callee = get_text(get_field(each.node, "function")).rpartition(".")[2]
        if each.form == "library" and callee in _EQUAL:
            yield from (
                given for given in list_children(get_field(each.node, "arguments"))[1:3] if make_other_value(given)
            )


def _find_named(file: SyntaxFile, body: Node) -> Iterator[Node]:
    """Yield the values of variables such as `want := 200`."""
    for match in file.find("short.value", body):
        pairs = zip(list_children(match["short.name"]), list_children(match["short.value"]), strict=False)
        yield from (_get_first_element(value) for name, value in pairs if _WANTED.match(get_text(name)))


def _get_first_element(value: Node) -> Node:
    """Return the first element of a list, or the value itself if it is not a list."""
    kind, body = get_field(value, "type"), get_field(value, "body")
    if value.type != "composite_literal" or kind is None or kind.type not in {"slice_type", "array_type"}:
        return value
    elements = [list_children(each)[0] for each in list_children(body, "literal_element") if list_children(each)]
    return elements[0] if elements else value


def _find_columns(body: Node) -> Iterator[Node]:
    """Yield the values in the `want` column of a table."""
    for node in walk(body):
        if node.type == "composite_literal":
            columns = _list_fields(get_field(node, "type"))
            for row in list_children(get_field(node, "body")):
                yield from _find_cells(row, columns)


def _list_fields(kind: Node | None) -> list[str]:
    declared = [each for each in walk(kind) if each.type == "field_declaration"] if kind is not None else []
    return [get_text(name) for each in declared for name in each.children_by_field_name("name")]


def _find_cells(row: Node, columns: list[str]) -> Iterator[Node]:
    value = list_children(row)[0] if row.type == "literal_element" and list_children(row) else row
    for at, cell in enumerate(list_children(value) if value.type == "literal_value" else ()):
        if cell.type == "keyed_element":
            name, held = get_text(get_field(cell, "key")), get_field(cell, "value")
        else:
            name, held = columns[at] if at < len(columns) else "", cell
        inner = list_children(held)
        if _WANTED.match(name) and inner:
            yield _get_first_element(inner[0])


def make_other_value(node: Node) -> str:
    """Return another value of the same type, or an empty string if none is known."""
    text = get_text(node)
    if node.type == "int_literal":
        return f"({text} ^ 1)"  # fits any integer size
    if node.type == "float_literal":
        return f"({text} + 7)"
    if node.type == "unary_expression" and text.startswith("-") and list_children(node)[0].type.endswith("_literal"):
        return text.lstrip("- ")
    if node.type in {"interpreted_string_literal", "raw_string_literal"}:
        return f"{text[:-1]}~{text[-1]}"
    return {"true": "false", "false": "true"}.get(node.type, "")


EXPECTATIONS = Expectations(SYNTAX, find_tests, _find_values, title=0)
