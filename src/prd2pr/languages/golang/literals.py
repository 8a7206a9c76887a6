"""Find examples in Go tests, and places in the source that return just those."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.languages.golang.assertions import find_assertion_names, find_assertions, find_comparisons
from prd2pr.languages.golang.files import parse_source
from prd2pr.languages.shared_literals import Example, SourceAnswer, strip_literal
from prd2pr.languages.syntax import get_field, get_line, get_text, list_children, walk

if TYPE_CHECKING:
    from tree_sitter import Node

VALUE_NODES = frozenset({"int_literal", "float_literal", "interpreted_string_literal", "raw_string_literal"})


def _read_value(node: Node) -> str:
    return strip_literal(get_text(node))


def find_examples(text: str) -> Iterator[Example]:
    """Yield literal arguments of a call with the literal expected from it, also from rows of tables."""
    root = parse_source(text)
    bound = list(_find_bindings(root))
    for each in find_assertions(root, find_assertion_names(root)):
        for _, left, right in find_comparisons(each.condition):
            for subject, expected in ((left, right), (right, left)):
                if expected.type in VALUE_NODES:
                    yield from (
                        (given, _read_value(expected)) for given in _find_arguments(_resolve_name(subject, bound))
                    )
    for node in walk(root):
        row = [_read_cell(each) for each in list_children(node)] if node.type == "literal_value" else []
        values = [_read_value(each) for each in row if each is not None and each.type in VALUE_NODES]
        if len(values) >= 2 and len(values) == len(row):
            yield from ((given, values[-1]) for given in values[:-1])


def _resolve_name(subject: Node, bound: list[tuple[str, Node]]) -> Node:
    """Return the value last bound to the name before this place."""
    before = [value for name, value in bound if name == get_text(subject) and value.end_byte <= subject.start_byte]
    return before[-1] if before else subject


def _find_bindings(root: Node) -> Iterator[tuple[str, Node]]:
    """Yield bindings such as `got := Earn(200)`."""
    for node in walk(root):
        if node.type == "short_var_declaration":
            names, values = list_children(get_field(node, "left")), list_children(get_field(node, "right"))
            yield from ((get_text(name), values[0]) for name in names[:1] if values)


def _read_cell(node: Node) -> Node | None:
    held = get_field(node, "value") if node.type == "keyed_element" else node
    inner = list_children(held)
    return inner[0] if inner else None


def _find_arguments(node: Node) -> Iterator[str]:
    for each in walk(node):
        if each.type == "call_expression":
            yield from (
                _read_value(given) for given in list_children(get_field(each, "arguments")) if given.type in VALUE_NODES
            )


def find_answers(text: str) -> Iterator[SourceAnswer]:
    for node in walk(parse_source(text)):
        if node.type == "keyed_element":
            key, value = _first_child(get_field(node, "key")), _first_child(get_field(node, "value"))
            if key is not None and value is not None and {key.type, value.type} <= VALUE_NODES:
                yield SourceAnswer(_read_value(key), _read_value(value), get_line(node))
        elif node.type == "if_statement":
            for operator, left, right in find_comparisons(get_field(node, "condition")):
                if operator == "==":
                    given = next((each for each in (left, right) if each.type in VALUE_NODES), None)
                    yield from _find_returned(given, get_field(node, "consequence"))
        elif node.type == "expression_case":
            for given in list_children(get_field(node, "value")):
                yield from _find_returned(given if given.type in VALUE_NODES else None, node)


def _first_child(node: Node | None) -> Node | None:
    inner = list_children(node)
    return inner[0] if inner else None


def _find_returned(given: Node | None, body: Node | None) -> Iterator[SourceAnswer]:
    if given is None or body is None:
        return
    for node in walk(body):
        if node.type == "return_statement":
            values = [
                each
                for held in list_children(node)
                for each in (list_children(held) or [held])
                if each.type in VALUE_NODES
            ]
            if values:
                yield SourceAnswer(_read_value(given), _read_value(values[0]), get_line(node))


def find_literals(text: str) -> Iterator[str]:
    """Yield literals, except import paths."""
    nodes = (node for node in walk(parse_source(text)) if node.type in VALUE_NODES)
    return (get_text(node) for node in nodes if node.parent is None or node.parent.type != "import_spec")
