"""Find examples in Rust tests, and places in the source that return just those."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.languages.rust.assertions import EQUAL, find_assertions
from prd2pr.languages.rust.files import parse_source
from prd2pr.languages.rust.functions import find_functions
from prd2pr.languages.shared_literals import Example, SourceAnswer, strip_literal
from prd2pr.languages.syntax import get_field, get_line, get_text, list_children, walk

if TYPE_CHECKING:
    from tree_sitter import Node

VALUE_NODES = frozenset({"integer_literal", "float_literal", "string_literal", "raw_string_literal"})
_SUFFIX = re.compile(r"(?<=\d)_?[iuf](8|16|32|64|128|size)$")


def _read_value(node: Node) -> str:
    return strip_literal(_SUFFIX.sub("", get_text(node)))


def find_examples(text: str) -> Iterator[Example]:
    """Yield literal arguments of a call with the literal expected from it, also from rows of tables."""
    root = parse_source(text)
    for each in find_assertions(root, frozenset()):
        if each.form in EQUAL and len(each.compared) == 2:
            for subject, expected in (each.compared, each.compared[::-1]):
                wanted = [node for node in expected.literals if node.type in VALUE_NODES]
                if len(wanted) == 1 and "(" in subject.text:
                    yield from (
                        (_read_value(node), _read_value(wanted[0]))
                        for node in subject.literals
                        if node.type in VALUE_NODES
                    )
    for node in walk(root):
        row = list_children(node) if node.type == "tuple_expression" else []
        if len(row) >= 2 and all(each.type in VALUE_NODES for each in row):
            yield from ((_read_value(given), _read_value(row[-1])) for given in row[:-1])


def find_answers(text: str) -> Iterator[SourceAnswer]:
    for function in find_functions(parse_source(text)):
        for node in walk(function.node):
            if node.type == "match_arm":
                patterns = list(_find_alternatives(get_field(node, "pattern")))
                value = get_field(node, "value")
                if value is not None and value.type in VALUE_NODES:
                    yield from (
                        SourceAnswer(_read_value(each), _read_value(value), get_line(node)) for each in patterns
                    )
            elif node.type == "if_expression":
                yield from _find_if_answer(node)
            elif node.type == "tuple_expression":
                row = list_children(node)
                if len(row) == 2 and all(each.type in VALUE_NODES for each in row):
                    yield SourceAnswer(_read_value(row[0]), _read_value(row[1]), get_line(node))


def _find_alternatives(pattern: Node | None) -> Iterator[Node]:
    """Yield single values (`25`, `25 | 26`); a range is a rule."""
    for each in list_children(pattern):
        if each.type in VALUE_NODES:
            yield each
        elif each.type == "or_pattern":
            yield from _find_alternatives(each)


def _find_if_answer(node: Node) -> Iterator[SourceAnswer]:
    condition, body = get_field(node, "condition"), get_field(node, "consequence")
    if condition is None or condition.type != "binary_expression" or get_text(get_field(condition, "operator")) != "==":
        return
    given = next((each for each in list_children(condition) if each.type in VALUE_NODES), None)
    inner = list_children(body)
    last = inner[-1] if inner else None
    if last is not None and last.type == "expression_statement":
        last = list_children(last)[0] if list_children(last) else None
    if last is not None and last.type == "return_expression":
        last = list_children(last)[0] if list_children(last) else None
    if given is not None and last is not None and last.type in VALUE_NODES:
        yield SourceAnswer(_read_value(given), _read_value(last), get_line(node))


def find_literals(text: str) -> Iterator[str]:
    return (get_text(node) for node in walk(parse_source(text)) if node.type in VALUE_NODES)


def find_source_literals(text: str) -> Iterator[str]:
    """Yield literals of the program, without inner tests."""
    for function in find_functions(parse_source(text)):
        yield from (get_text(node) for node in walk(function.node) if node.type in VALUE_NODES)
