"""Find the expected values of JavaScript tests, and replacements of the same type."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.languages.javascript.assertions import AssertionNames, find_assertion_names, find_assertions
from prd2pr.languages.javascript.declared_tests import find_tests
from prd2pr.languages.javascript.grammar import SYNTAX
from prd2pr.languages.javascript.value_origins import ValueOrigins
from prd2pr.languages.syntax.expectations import Expectations
from prd2pr.languages.syntax.nodes import get_field, get_text, list_children, walk
from prd2pr.languages.syntax.queries import SyntaxFile

if TYPE_CHECKING:
    from tree_sitter import Node

_EQUAL = frozenset(
    {"equal", "strictEqual", "deepEqual", "deepStrictEqual", "toBe", "toEqual", "toStrictEqual", "toHaveLength"}
)
_WHOLE = re.compile(r"-?\d+")
_OFFSET = 7


def _find_values(file: SyntaxFile, body: Node) -> Iterator[tuple[Node, str]]:
    names, tables = find_assertion_names(file.root), ValueOrigins(file.root)
    helpers = dict(_find_helpers(file.root, names))
    for expected in _find_expected(body, names, helpers):
        yield from _make_edits(expected, tables)


def _find_expected(body: Node, names: AssertionNames, helpers: dict[str, set[int]]) -> Iterator[Node]:
    for each in find_assertions(body, names):
        if each.form in _EQUAL and each.expected is not None:
            yield each.expected
        elif each.form == "helper":
            given = list_children(get_field(each.node, "arguments"))
            places = helpers.get(get_text(get_field(each.node, "function")), set())
            yield from (given[at] for at in sorted(places) if at < len(given))


def _find_helpers(root: Node, names: AssertionNames) -> Iterator[tuple[str, set[int]]]:
    """Yield the asserting functions of the file, with the positions of parameters that are expected values."""
    for node in walk(root):
        function = get_field(node, "value") if node.type == "variable_declarator" else node
        name = get_text(get_field(node, "name"))
        if function is None or name not in names.helpers or get_field(function, "body") is None:
            continue
        parameters = [
            get_text(get_field(each, "pattern") or each) for each in list_children(get_field(function, "parameters"))
        ]
        wanted = {
            get_text(each.expected)
            for each in find_assertions(function, names)
            if each.form in _EQUAL and each.expected
        }
        yield name, {at for at, each in enumerate(parameters) if each in wanted}


def _make_edits(node: Node, tables: ValueOrigins) -> Iterator[tuple[Node, str]]:
    """Yield each node and its replacement.

    The node is the expected value or the literal from which that value comes.
    """
    if other := _make_other_value(node):
        yield node, other
        return
    changed = [(each, other) for each in tables.find_values(node) if (other := _make_other_value(each))]
    if changed and (holder := tables.find_holder(node)) is not None:
        yield holder, _rewrite_holder(holder, changed)


def _rewrite_holder(holder: Node, changed: list[tuple[Node, str]]) -> str:
    """Replace all values at once, because a test may stop at the first row of a table."""
    data, begin = (holder.text or b""), holder.start_byte
    for node, other in sorted(changed, key=lambda each: each[0].start_byte, reverse=True):
        data = data[: node.start_byte - begin] + other.encode() + data[node.end_byte - begin :]
    return data.decode("utf-8", "replace")


def _make_other_value(node: Node) -> str:
    """Return a literal of the same kind, so that code that reads the test file finds the replaced value."""
    text = get_text(node)
    if _WHOLE.fullmatch(text):
        return str(int(text) + _OFFSET)
    others = {
        "number": f"({text} + {_OFFSET})",
        "unary_expression": f"({text} - {_OFFSET})" if text.startswith("-") else "",
        "string": f"{text[:-1]}~{text[-1:]}",
        "true": "false",
        "false": "true",
        "array": f"[...{text}, 41975]",
        "object": f"{{ ...{text}, otherwise: 41975 }}",
    }
    return others.get(node.type, "")


EXPECTATIONS = Expectations(SYNTAX, find_tests, _find_values)
