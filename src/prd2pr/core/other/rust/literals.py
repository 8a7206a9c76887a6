"""Examples in Rust tests, and answers in Rust source that look like them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.core.other.examples import Answer, Example, value_of
from prd2pr.core.other.rust.assertions import EQUAL, assertions_in
from prd2pr.core.other.rust.files import root_of
from prd2pr.core.other.rust.functions import functions_in
from prd2pr.core.other.syntax import children, line_of, part, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

VALUES = frozenset({"integer_literal", "float_literal", "string_literal", "raw_string_literal"})
_SUFFIX = re.compile(r"(?<=\d)_?[iuf](8|16|32|64|128|size)$")


def _value(node: Node) -> str:
    return value_of(_SUFFIX.sub("", text_of(node)))


def examples_in(text: str) -> Iterator[Example]:
    """Literals that a call is given, and the literal that is expected of it; rows of a table of both."""
    root = root_of(text)
    for each in assertions_in(root, frozenset()):
        if each.form in EQUAL and len(each.asked) == 2:
            for asked, expected in (each.asked, each.asked[::-1]):
                wanted = [node for node in expected.literals if node.type in VALUES]
                if len(wanted) == 1 and "(" in asked.text:
                    yield from ((_value(node), _value(wanted[0])) for node in asked.literals if node.type in VALUES)
    for node in walk(root):
        row = children(node) if node.type == "tuple_expression" else []
        if len(row) >= 2 and all(each.type in VALUES for each in row):
            yield from ((_value(given), _value(row[-1])) for given in row[:-1])


def answers_in(text: str) -> Iterator[Answer]:
    for function in functions_in(root_of(text)):
        for node in walk(function.node):
            if node.type == "match_arm":
                patterns = list(_alternatives(part(node, "pattern")))
                value = part(node, "value")
                if value is not None and value.type in VALUES:
                    yield from (Answer(_value(each), _value(value), line_of(node)) for each in patterns)
            elif node.type == "if_expression":
                yield from _of_if(node)
            elif node.type == "tuple_expression":
                row = children(node)
                if len(row) == 2 and all(each.type in VALUES for each in row):
                    yield Answer(_value(row[0]), _value(row[1]), line_of(node))


def _alternatives(pattern: Node | None) -> Iterator[Node]:
    """Single values: `25`, `25 | 26`; a range is a rule."""
    for each in children(pattern):
        if each.type in VALUES:
            yield each
        elif each.type == "or_pattern":
            yield from _alternatives(each)


def _of_if(node: Node) -> Iterator[Answer]:
    condition, body = part(node, "condition"), part(node, "consequence")
    if condition is None or condition.type != "binary_expression" or text_of(part(condition, "operator")) != "==":
        return
    given = next((each for each in children(condition) if each.type in VALUES), None)
    inner = children(body)
    last = inner[-1] if inner else None
    if last is not None and last.type == "expression_statement":
        last = children(last)[0] if children(last) else None
    if last is not None and last.type == "return_expression":
        last = children(last)[0] if children(last) else None
    if given is not None and last is not None and last.type in VALUES:
        yield Answer(_value(given), _value(last), line_of(node))


def literals_in(text: str) -> Iterator[str]:
    return (text_of(node) for node in walk(root_of(text)) if node.type in VALUES)


def source_literals(text: str) -> Iterator[str]:
    """Of the program: what stands in tests beside it does not count."""
    for function in functions_in(root_of(text)):
        yield from (text_of(node) for node in walk(function.node) if node.type in VALUES)
