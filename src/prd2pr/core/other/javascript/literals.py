"""Values that source and tests share: a table of the tests' examples in place of the rule, and single literals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from prd2pr.core.evidence import Fact
from prd2pr.core.other.javascript.assertions import asserting, assertions_in
from prd2pr.core.other.javascript.files import grammar_of
from prd2pr.core.other.syntax import children, line_of, parsed, part, text_of, tokens, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_VALUES = frozenset({"number", "string"})
_ENOUGH = 2  # examples that are answered one by one
_TELLING = 4  # characters, below which a literal may be the same by chance


def tables_of_examples(path: str, text: str, tests: Mapping[str, str]) -> Iterator[Fact]:
    """`if (x === 25) return 2; if (x === 100) return 10;`, where the tests ask just that."""
    asked = {pair for test, source in tests.items() for pair in _examples(test, source)}
    if len(asked) < _ENOUGH:
        return
    root = parsed(grammar_of(path), text)
    answered = {(given, answer): node for given, answer, node in _answers(root)}
    hits = [pair for pair in answered if pair in asked]
    if len(hits) >= _ENOUGH and len(hits) * 2 >= len(answered):
        shown = ", ".join(f"{given} → {answer}" for given, answer in sorted(hits)[:3])
        first = answered[hits[0]]
        said = f"answers the tests' examples one by one: {shown}"
        yield Fact(code="GRN416", path=path, line=line_of(first), message=said)


def _examples(path: str, text: str) -> Iterator[tuple[str, str]]:
    """Literals that a call is given, and the literal that is expected of it."""
    root = parsed(grammar_of(path), text)
    for each in assertions_in(root, asserting(root)):
        if each.subject is None or each.expected is None or each.expected.type not in _VALUES:
            continue
        for node in walk(each.subject):
            if node.type == "call_expression":
                for given in children(part(node, "arguments")):
                    if given.type in _VALUES:
                        yield _value(given), _value(each.expected)
    for node in walk(root):  # rows of a table: [25, 2]
        row = children(node) if node.type == "array" else []
        if len(row) >= 2 and all(each.type in _VALUES for each in row):
            for given in row[:-1]:
                yield _value(given), _value(row[-1])


def _value(node: Node) -> str:
    return text_of(node).strip("'\"`")


def _answers(root: Node) -> Iterator[tuple[str, str, Node]]:
    for node in walk(root):
        if node.type == "pair":
            key, value = part(node, "key"), part(node, "value")
            if value is not None and value.type in _VALUES and key is not None:
                yield _value(key), _value(value), node
        elif node.type == "array":
            row = children(node)
            if len(row) == 2 and all(each.type in _VALUES for each in row):
                yield _value(row[0]), _value(row[1]), node
        elif node.type == "switch_case":
            yield from _pairs(part(node, "value"), node, node)
        elif node.type in {"if_statement", "ternary_expression"}:
            compared = _compared(part(node, "condition"))
            yield from _pairs(compared, part(node, "consequence"), node)


def _pairs(given: Node | None, body: Node | None, node: Node) -> Iterator[tuple[str, str, Node]]:
    if given is None or body is None or given.type not in _VALUES:
        return
    returned = [each for each in walk(body) if each.type == "return_statement"]
    values = [child for each in returned for child in children(each)] or [body]
    for value in values:
        if value.type in _VALUES:
            yield _value(given), _value(value), node


def _compared(condition: Node | None) -> Node | None:
    """The literal that something is compared with."""
    for node in walk(condition) if condition is not None else ():
        if node.type == "binary_expression" and text_of(part(node, "operator")) in {"==", "==="}:
            sides = [part(node, "left"), part(node, "right")]
            found = [each for each in sides if each is not None and each.type in _VALUES]
            if len(found) == 1:
                return found[0]
    return None


def repeated_literals(path: str, before: str, after: str, tests: Mapping[str, str]) -> Iterator[Fact]:
    expected = {value for test, source in tests.items() for value in _expected(test, source)}
    known = set(_literals(path, before)) if before else set()
    shared = sorted({value for value in _literals(path, after) if value in expected and value not in known})
    if shared:
        shown = ", ".join(f"`{value}`" for value in shared[:3])
        yield Fact(code="GRN402", path=path, message=f"{shown} of the tests occurs in the source")


def _expected(path: str, text: str) -> Iterator[str]:
    root = parsed(grammar_of(path), text)
    for each in assertions_in(root, asserting(root)):
        if each.expected is not None:
            yield from (tokens(node) for node in walk(each.expected) if node.type in _VALUES and _is_telling(node))


def _literals(path: str, text: str) -> Iterator[str]:
    root = parsed(grammar_of(path), text)
    return (tokens(node) for node in walk(root) if node.type in _VALUES and _is_telling(node))


def _is_telling(node: Node) -> bool:
    return len(_value(node)) >= _TELLING
