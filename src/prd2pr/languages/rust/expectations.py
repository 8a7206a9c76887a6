"""Replace the expected values of Rust tests: a test that still passes does not check the value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.languages.mutation_plan import Fault
from prd2pr.languages.rust.assertions import EQUAL, HOLDS, find_assertions
from prd2pr.languages.rust.declared_tests import find_tests
from prd2pr.languages.rust.files import SYNTAX
from prd2pr.languages.rust.macros import LITERALS, Argument
from prd2pr.languages.syntax.faults import make_perturbation
from prd2pr.languages.syntax.nodes import get_field, get_text, list_children, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_WANTED = re.compile(r"^(want|wants|wanted|exp|expect|expected|result|output)\w*$")
_AROUND = frozenset({"Some", "Ok", "Err", "vec", "String", "from", "to_string", "to_owned", "into", "Box", "new"})


def make_wrong_expectations(path: str, text: str) -> tuple[Fault, ...]:
    found: dict[tuple[int, int], Fault] = {}
    for test in find_tests(SYNTAX.read(path, text)):
        if test.body is None:
            continue
        for node in (*_find_compared(test.body), *_find_named(test.body), *_find_rows(test.body)):
            other = make_other_value(node)
            if other:
                fault = make_perturbation(path, test.titles[-1], node, other)
                found.setdefault(fault.edit[:2], fault)
    return tuple(found.values())


def _find_compared(body: Node) -> Iterator[Node]:
    for each in find_assertions(body, frozenset()):
        if each.form in EQUAL and len(each.compared) == 2:
            yield from (side.literals[0] for side in each.compared if _is_value(side))
        elif each.form in HOLDS and each.compared:
            yield from _find_equality(each.compared[0])


def _is_value(argument: Argument) -> bool:
    return bool(argument.literals) and argument.names <= _AROUND


def _find_equality(argument: Argument) -> Iterator[Node]:
    """Yield the literal on either side of `==`."""
    at = next((number for number, node in enumerate(argument.nodes) if get_text(node) == "=="), None)
    if at is not None:
        for side in (Argument(argument.nodes[:at]), Argument(argument.nodes[at + 1 :])):
            if side.nodes and _is_value(side):
                yield side.literals[0]


def _find_named(body: Node) -> Iterator[Node]:
    for node in walk(body):
        value = get_field(node, "value") if node.type == "let_declaration" else None
        if value is not None and value.type in LITERALS and _WANTED.match(get_text(get_field(node, "pattern"))):
            yield value


def _find_rows(body: Node) -> Iterator[Node]:
    """Yield the last cell of each row that a loop iterates over."""
    for node in walk(body):
        value = get_field(node, "value") if node.type == "for_expression" else None
        for row in walk(value) if value is not None else ():
            cells = list_children(row) if row.type == "tuple_expression" else []
            if cells and cells[-1].type in LITERALS:
                yield cells[-1]


def make_other_value(node: Node) -> str:
    """Return another value of the same type and range; empty if none is known."""
    text = get_text(node)
    if node.type == "integer_literal":
        return f"({text} ^ 1)"
    if node.type == "float_literal":
        return f"({text} + 7.0)"
    if node.type == "string_literal":
        return f'{text[:-1]}~"'
    return {"true": "false", "false": "true"}.get(text, "") if node.type == "boolean_literal" else ""
