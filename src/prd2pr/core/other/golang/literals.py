"""Examples in Go tests, and answers in Go source that look like them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.core.other.examples import Answer, Example, value_of
from prd2pr.core.other.golang.assertions import asserting, assertions_in, compared
from prd2pr.core.other.golang.files import root_of
from prd2pr.core.other.syntax import children, line_of, part, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

VALUES = frozenset({"int_literal", "float_literal", "interpreted_string_literal", "raw_string_literal"})


def _value(node: Node) -> str:
    return value_of(text_of(node))


def examples_in(text: str) -> Iterator[Example]:
    """Literals that a call is given, and the literal that is expected of it; rows of a table of both."""
    root = root_of(text)
    bound = list(_bound(root))
    for each in assertions_in(root, asserting(root)):
        for _, left, right in compared(each.condition):
            for asked, expected in ((left, right), (right, left)):
                if expected.type in VALUES:
                    yield from ((given, _value(expected)) for given in _given(_made(asked, bound)))
    for node in walk(root):
        row = [_cell(each) for each in children(node)] if node.type == "literal_value" else []
        values = [_value(each) for each in row if each is not None and each.type in VALUES]
        if len(values) >= 2 and len(values) == len(row):
            yield from ((given, values[-1]) for given in values[:-1])


def _made(asked: Node, bound: list[tuple[str, Node]]) -> Node:
    """What a name stands for, by the last place before it that says so."""
    before = [value for name, value in bound if name == text_of(asked) and value.end_byte <= asked.start_byte]
    return before[-1] if before else asked


def _bound(root: Node) -> Iterator[tuple[str, Node]]:
    """`got := Earn(200)`: what `got` stands for."""
    for node in walk(root):
        if node.type == "short_var_declaration":
            names, values = children(part(node, "left")), children(part(node, "right"))
            yield from ((text_of(name), values[0]) for name in names[:1] if values)


def _cell(node: Node) -> Node | None:
    held = part(node, "value") if node.type == "keyed_element" else node
    inner = children(held)
    return inner[0] if inner else None


def _given(node: Node) -> Iterator[str]:
    for each in walk(node):
        if each.type == "call_expression":
            yield from (_value(given) for given in children(part(each, "arguments")) if given.type in VALUES)


def answers_in(text: str) -> Iterator[Answer]:
    for node in walk(root_of(text)):
        if node.type == "keyed_element":
            key, value = _cell_of(part(node, "key")), _cell_of(part(node, "value"))
            if key is not None and value is not None and {key.type, value.type} <= VALUES:
                yield Answer(_value(key), _value(value), line_of(node))
        elif node.type == "if_statement":
            for operator, left, right in compared(part(node, "condition")):
                if operator == "==":
                    given = next((each for each in (left, right) if each.type in VALUES), None)
                    yield from _answered(given, part(node, "consequence"))
        elif node.type == "expression_case":
            for given in children(part(node, "value")):
                yield from _answered(given if given.type in VALUES else None, node)


def _cell_of(node: Node | None) -> Node | None:
    inner = children(node)
    return inner[0] if inner else None


def _answered(given: Node | None, body: Node | None) -> Iterator[Answer]:
    if given is None or body is None:
        return
    for node in walk(body):
        if node.type == "return_statement":
            values = [each for held in children(node) for each in (children(held) or [held]) if each.type in VALUES]
            if values:
                yield Answer(_value(given), _value(values[0]), line_of(node))


def literals_in(text: str) -> Iterator[str]:
    """Without what is imported."""
    nodes = (node for node in walk(root_of(text)) if node.type in VALUES)
    return (text_of(node) for node in nodes if node.parent is None or node.parent.type != "import_spec")
