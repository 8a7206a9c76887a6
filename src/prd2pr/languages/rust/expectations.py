"""Find the expected values of Rust tests, and replacements of the same type."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.languages.rust.assertions import EQUAL, HOLDS, find_assertions
from prd2pr.languages.rust.declared_tests import find_tests
from prd2pr.languages.rust.files import SYNTAX
from prd2pr.languages.rust.macros import Argument
from prd2pr.languages.syntax.expectations import Expectations
from prd2pr.languages.syntax.nodes import get_text
from prd2pr.languages.syntax.queries import SyntaxFile

if TYPE_CHECKING:
    from tree_sitter import Node

_WANTED = re.compile(r"^(want|wants|wanted|exp|expect|expected|result|output)\w*$")
_AROUND = frozenset({"Some", "Ok", "Err", "vec", "String", "from", "to_string", "to_owned", "into", "Box", "new"})


def _find_values(file: SyntaxFile, body: Node) -> Iterator[tuple[Node, str]]:
    """Yield compared values, values of variables such as `want`, and the last cells of the rows that a loop uses."""
    named = [match["wanted.value"] for match in file.find("wanted.value", body) if _WANTED.match(match.text("wanted"))]
    for node in (*_find_compared(body), *named, *file.find_nodes("cell", body)):
        yield node, make_other_value(node)


def _find_compared(body: Node) -> Iterator[Node]:
    for each in find_assertions(body, frozenset()):
        if each.form in EQUAL and len(each.compared) == 2:
            yield from (side.literals[0] for side in each.compared if _is_value(side))
        elif each.form in HOLDS and each.compared:
            yield from _find_equality(each.compared[0])


def _is_value(argument: Argument) -> bool:
    return bool(argument.literals) and argument.names <= _AROUND


def _find_equality(argument: Argument) -> Iterator[Node]:
    """Yield the literals on either side of `==`."""
    at = next((number for number, node in enumerate(argument.nodes) if get_text(node) == "=="), None)
    if at is not None:
        for side in (Argument(argument.nodes[:at]), Argument(argument.nodes[at + 1 :])):
            if side.nodes and _is_value(side):
                yield side.literals[0]


def make_other_value(node: Node) -> str:
    """Return another value of the same type and range, or an empty string if none is known."""
    text = get_text(node)
    if node.type == "integer_literal":
        return f"({text} ^ 1)"
    if node.type == "float_literal":
        return f"({text} + 7.0)"
    if node.type == "string_literal":
        return f'{text[:-1]}~"'
    return {"true": "false", "false": "true"}.get(text, "") if node.type == "boolean_literal" else ""


EXPECTATIONS = Expectations(SYNTAX, find_tests, _find_values)
