"""Expected values of Go tests, each replaced by another: a test that passes all the same looks at nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.core.bite.plan import Fault
from prd2pr.core.other.faults import perturbation
from prd2pr.core.other.golang.assertions import Asserting, asserting, assertions_in, compared
from prd2pr.core.other.golang.declared import tests_in
from prd2pr.core.other.golang.files import root_of
from prd2pr.core.other.syntax import children, part, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_WANTED = re.compile(r"^(want|wants|wanted|exp|expect|expected|result|out)\w*$", re.IGNORECASE)
_EQUAL = frozenset({"Equal", "EqualValues", "Exactly"})


def wrong_expectations(path: str, text: str) -> tuple[Fault, ...]:
    root = root_of(text)
    names = asserting(root)
    found: dict[tuple[int, int], Fault] = {}
    for test in tests_in(root):
        if test.body is None:
            continue
        nodes = [*_asked(test.body, names), *_named(test.body), *_columns(test.body)]
        for node in nodes:
            other = other_value(node)
            if other:
                fault = perturbation(path, test.titles[0], node, other)
                found.setdefault(fault.edit[:2], fault)
    return tuple(found.values())


def _asked(body: Node, names: Asserting) -> Iterator[Node]:
    """Literals that an answer is compared with, in the condition or as an argument of a library's assertion."""
    for each in assertions_in(body, names):
        for operator, left, right in compared(each.condition):
            if operator in {"==", "!="}:
                yield from (side for side in (left, right) if other_value(side))
        callee = text_of(part(each.node, "function")).rpartition(".")[2]
        if each.form == "library" and callee in _EQUAL:
            yield from (given for given in children(part(each.node, "arguments"))[1:3] if other_value(given))


def _named(body: Node) -> Iterator[Node]:
    """`want := 200`"""
    for node in walk(body):
        if node.type == "short_var_declaration":
            names, values = children(part(node, "left")), children(part(node, "right"))
            wanted = (value for name, value in zip(names, values, strict=False) if _WANTED.match(text_of(name)))
            yield from (_first(value) for value in wanted)


def _first(value: Node) -> Node:
    """Of a list, its first element: with another one it is another list."""
    kind, body = part(value, "type"), part(value, "body")
    if value.type != "composite_literal" or kind is None or kind.type not in {"slice_type", "array_type"}:
        return value
    elements = [children(each)[0] for each in children(body, "literal_element") if children(each)]
    return elements[0] if elements else value


def _columns(body: Node) -> Iterator[Node]:
    """The column `want` of a table."""
    for node in walk(body):
        if node.type == "composite_literal":
            columns = _fields(part(node, "type"))
            for row in children(part(node, "body")):
                yield from _cells(row, columns)


def _fields(kind: Node | None) -> list[str]:
    declared = [each for each in walk(kind) if each.type == "field_declaration"] if kind is not None else []
    return [text_of(name) for each in declared for name in each.children_by_field_name("name")]


def _cells(row: Node, columns: list[str]) -> Iterator[Node]:
    value = children(row)[0] if row.type == "literal_element" and children(row) else row
    for at, cell in enumerate(children(value) if value.type == "literal_value" else ()):
        if cell.type == "keyed_element":
            name, held = text_of(part(cell, "key")), part(cell, "value")
        else:
            name, held = columns[at] if at < len(columns) else "", cell
        inner = children(held)
        if _WANTED.match(name) and inner:
            yield _first(inner[0])


def other_value(node: Node) -> str:
    """Of the same type; empty where none is known."""
    text = text_of(node)
    if node.type == "int_literal":
        return f"({text} ^ 1)"  # whatever its size, it fits
    if node.type == "float_literal":
        return f"({text} + 7)"
    if node.type == "unary_expression" and text.startswith("-") and children(node)[0].type.endswith("_literal"):
        return text.lstrip("- ")
    if node.type in {"interpreted_string_literal", "raw_string_literal"}:
        return f"{text[:-1]}~{text[-1]}"
    return {"true": "false", "false": "true"}.get(node.type, "")
