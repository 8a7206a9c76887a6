"""Expected values of tests, each replaced by another: a test that passes all the same looks at nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.core.bite.plan import Fault
from prd2pr.core.other.faults import perturbation
from prd2pr.core.other.ids import plain
from prd2pr.core.other.javascript.assertions import Asserting, asserting, assertions_in
from prd2pr.core.other.javascript.calls import title_of
from prd2pr.core.other.javascript.declared import calls_in
from prd2pr.core.other.javascript.files import grammar_of
from prd2pr.core.other.javascript.tables import Tables
from prd2pr.core.other.syntax import children, parsed, part, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_EQUAL = frozenset(
    {"equal", "strictEqual", "deepEqual", "deepStrictEqual", "toBe", "toEqual", "toStrictEqual", "toHaveLength"}
)
_WHOLE = re.compile(r"-?\d+")
_BY = 7


def wrong_expectations(path: str, text: str) -> tuple[Fault, ...]:
    root = parsed(grammar_of(path), text)
    names, tables = asserting(root), Tables(root)
    helpers = dict(_helpers(root, names))
    found: dict[tuple[int, int], Fault] = {}
    for call, _ in calls_in(root):
        if call.kind != "test" or call.body is None:
            continue
        title = plain(title_of(call.title)[0])
        for expected in _expected_in(call.body, names, helpers):
            for node, other in _replaced(expected, tables):
                fault = perturbation(path, title, node, other)
                found.setdefault(fault.edit[:2], fault)
    return tuple(found.values())


def _expected_in(body: Node, names: Asserting, helpers: dict[str, set[int]]) -> Iterator[Node]:
    for each in assertions_in(body, names):
        if each.form in _EQUAL and each.expected is not None:
            yield each.expected
        elif each.form == "helper":
            given = children(part(each.node, "arguments"))
            places = helpers.get(text_of(part(each.node, "function")), set())
            yield from (given[at] for at in sorted(places) if at < len(given))


def _helpers(root: Node, names: Asserting) -> Iterator[tuple[str, set[int]]]:
    """Functions of the file that assert, and which of what they are given they expect."""
    for node in walk(root):
        function = part(node, "value") if node.type == "variable_declarator" else node
        name = text_of(part(node, "name"))
        if function is None or name not in names.helpers or part(function, "body") is None:
            continue
        parameters = [text_of(part(each, "pattern") or each) for each in children(part(function, "parameters"))]
        wanted = {
            text_of(each.expected) for each in assertions_in(function, names) if each.form in _EQUAL and each.expected
        }
        yield name, {at for at, each in enumerate(parameters) if each in wanted}


def _replaced(node: Node, tables: Tables) -> Iterator[tuple[Node, str]]:
    """What is edited, and the text in its place: the value itself, or where it was written down."""
    if other := _other(node):
        yield node, other
        return
    changed = [(each, other) for each in tables.values_of(node) if (other := _other(each))]
    if changed and (holder := tables.holder_of(node)) is not None:
        yield holder, _rewritten(holder, changed)


def _rewritten(holder: Node, changed: list[tuple[Node, str]]) -> str:
    """All of them at once: a table is looked at row by row, and a test may stop at the first."""
    data, begin = (holder.text or b""), holder.start_byte
    for node, other in sorted(changed, key=lambda each: each[0].start_byte, reverse=True):
        data = data[: node.start_byte - begin] + other.encode() + data[node.end_byte - begin :]
    return data.decode("utf-8", "replace")


def _other(node: Node) -> str:
    """A value of the same kind, written as a value: who reads the answers out of the test file finds the other one."""
    text = text_of(node)
    if _WHOLE.fullmatch(text):
        return str(int(text) + _BY)
    others = {
        "number": f"({text} + {_BY})",
        "unary_expression": f"({text} - {_BY})" if text.startswith("-") else "",
        "string": f"{text[:-1]}~{text[-1:]}",
        "true": "false",
        "false": "true",
        "array": f"[...{text}, 41975]",
        "object": f"{{ ...{text}, otherwise: 41975 }}",
    }
    return others.get(node.type, "")
