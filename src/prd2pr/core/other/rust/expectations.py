"""Expected values of Rust tests, each replaced by another: a test that passes all the same looks at nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.core.bite.plan import Fault
from prd2pr.core.other.faults import perturbation
from prd2pr.core.other.rust.assertions import EQUAL, HOLDS, assertions_in
from prd2pr.core.other.rust.declared import tests_in
from prd2pr.core.other.rust.files import root_of
from prd2pr.core.other.rust.macros import LITERALS, Argument
from prd2pr.core.other.syntax import children, part, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_WANTED = re.compile(r"^(want|wants|wanted|exp|expect|expected|result|output)\w*$")
_AROUND = frozenset({"Some", "Ok", "Err", "vec", "String", "from", "to_string", "to_owned", "into", "Box", "new"})


def wrong_expectations(path: str, text: str) -> tuple[Fault, ...]:
    found: dict[tuple[int, int], Fault] = {}
    for test in tests_in(root_of(text)):
        if test.body is None:
            continue
        for node in (*_asked(test.body), *_named(test.body), *_rows(test.body)):
            other = other_value(node)
            if other:
                fault = perturbation(path, test.titles[-1], node, other)
                found.setdefault(fault.edit[:2], fault)
    return tuple(found.values())


def _asked(body: Node) -> Iterator[Node]:
    for each in assertions_in(body, frozenset()):
        if each.form in EQUAL and len(each.asked) == 2:
            yield from (side.literals[0] for side in each.asked if _is_value(side))
        elif each.form in HOLDS and each.asked:
            yield from _compared(each.asked[0])


def _is_value(argument: Argument) -> bool:
    return bool(argument.literals) and argument.names <= _AROUND


def _compared(argument: Argument) -> Iterator[Node]:
    """The literal behind or before `==`."""
    at = next((number for number, node in enumerate(argument.nodes) if text_of(node) == "=="), None)
    if at is not None:
        for side in (Argument(argument.nodes[:at]), Argument(argument.nodes[at + 1 :])):
            if side.nodes and _is_value(side):
                yield side.literals[0]


def _named(body: Node) -> Iterator[Node]:
    for node in walk(body):
        value = part(node, "value") if node.type == "let_declaration" else None
        if value is not None and value.type in LITERALS and _WANTED.match(text_of(part(node, "pattern"))):
            yield value


def _rows(body: Node) -> Iterator[Node]:
    """The last cell of each row that a loop goes through."""
    for node in walk(body):
        value = part(node, "value") if node.type == "for_expression" else None
        for row in walk(value) if value is not None else ():
            cells = children(row) if row.type == "tuple_expression" else []
            if cells and cells[-1].type in LITERALS:
                yield cells[-1]


def other_value(node: Node) -> str:
    """Of the same type, and within its range; empty where none is known."""
    text = text_of(node)
    if node.type == "integer_literal":
        return f"({text} ^ 1)"
    if node.type == "float_literal":
        return f"({text} + 7.0)"
    if node.type == "string_literal":
        return f'{text[:-1]}~"'
    return {"true": "false", "false": "true"}.get(text, "") if node.type == "boolean_literal" else ""
