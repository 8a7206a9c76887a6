"""Expected values of tests, each replaced by another: a test that passes all the same looks at nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.core.bite.plan import Fault
from prd2pr.core.other.ids import plain
from prd2pr.core.other.javascript.assertions import asserting, assertions_in
from prd2pr.core.other.javascript.calls import title_of
from prd2pr.core.other.javascript.declared import calls_in
from prd2pr.core.other.javascript.files import grammar_of
from prd2pr.core.other.syntax import last_line, line_of, parsed, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_EQUAL = frozenset(
    {"equal", "strictEqual", "deepEqual", "deepStrictEqual", "toBe", "toEqual", "toStrictEqual", "toHaveLength"}
)


def wrong_expectations(path: str, text: str) -> tuple[Fault, ...]:
    root = parsed(grammar_of(path), text)
    names = asserting(root)
    found: dict[tuple[int, int], Fault] = {}
    for call, _ in calls_in(root):
        if call.kind != "test" or call.body is None:
            continue
        title = plain(title_of(call.title)[0])
        for each in assertions_in(call.body, names):
            if each.form in _EQUAL and each.expected is not None:
                for fault in _replaced(path, title, each.expected):
                    found.setdefault(fault.edit[:2], fault)
    return tuple(found.values())


def _replaced(path: str, title: str, node: Node) -> Iterator[Fault]:
    other = _other(node)
    if not other:
        return
    edit = (node.start_byte, node.end_byte, other)
    name = hashlib.sha256(f"perturbation {path} {edit}".encode()).hexdigest()[:12]
    said = f"`{text_of(node)[:60]}` replaced by `{other[:60]}`"
    span = (node.start_byte, node.end_byte, line_of(node))
    yield Fault(name, "perturbation", path, line_of(node), (line_of(node), last_line(node)), title, said, edit, span)


def _other(node: Node) -> str:
    text = text_of(node)
    others = {
        "number": f"({text} + 7)",
        "unary_expression": f"({text} - 7)" if text.startswith("-") else "",
        "string": f"{text[:-1]}~{text[-1:]}",
        "true": "false",
        "false": "true",
        "array": f"[...{text}, 41975]",
        "object": f"{{ ...{text}, otherwise: 41975 }}",
    }
    return others.get(node.type, "")
