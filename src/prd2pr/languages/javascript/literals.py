"""Values shared by source and tests: tables of the tests' examples instead of a rule, and single literals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from prd2pr.domain.evidence import Fact
from prd2pr.languages.javascript.assertions import find_assertion_names, find_assertions
from prd2pr.languages.javascript.files import select_grammar
from prd2pr.languages.syntax import get_field, get_line, get_text, join_tokens, list_children, parse_text, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_VALUES = frozenset({"number", "string"})
_MIN_EXAMPLES = 2  # examples answered one by one
_MIN_LENGTH = 4  # characters; shorter literals may coincide by chance


def check_example_tables(path: str, text: str, tests: Mapping[str, str]) -> Iterator[Fact]:
    """`if (x === 25) return 2; if (x === 100) return 10;`, if the tests use just these examples."""
    examples = {pair for test, source in tests.items() for pair in _find_examples(test, source)}
    if len(examples) < _MIN_EXAMPLES:
        return
    root = parse_text(select_grammar(path), text)
    answered = {(given, answer): node for given, answer, node in _find_answers(root)}
    hits = [pair for pair in answered if pair in examples]
    if len(hits) >= _MIN_EXAMPLES and len(hits) * 2 >= len(answered):
        shown = ", ".join(f"{given} → {answer}" for given, answer in sorted(hits)[:3])
        first = answered[hits[0]]
        message = f"returns the tests' examples one by one: {shown}"
        yield Fact(code="GRN416", path=path, line=get_line(first), message=message)


def _find_examples(path: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield literal arguments of a call with the literal expected from it."""
    root = parse_text(select_grammar(path), text)
    for each in find_assertions(root, find_assertion_names(root)):
        if each.subject is None or each.expected is None or each.expected.type not in _VALUES:
            continue
        for node in walk(each.subject):
            if node.type == "call_expression":
                for given in list_children(get_field(node, "arguments")):
                    if given.type in _VALUES:
                        yield _read_value(given), _read_value(each.expected)
    for node in walk(root):  # rows of a table: [25, 2]
        row = list_children(node) if node.type == "array" else []
        if len(row) >= 2 and all(each.type in _VALUES for each in row):
            for given in row[:-1]:
                yield _read_value(given), _read_value(row[-1])


def _read_value(node: Node) -> str:
    return get_text(node).strip("'\"`")


def _find_answers(root: Node) -> Iterator[tuple[str, str, Node]]:
    for node in walk(root):
        if node.type == "pair":
            key, value = get_field(node, "key"), get_field(node, "value")
            if value is not None and value.type in _VALUES and key is not None:
                yield _read_value(key), _read_value(value), node
        elif node.type == "array":
            row = list_children(node)
            if len(row) == 2 and all(each.type in _VALUES for each in row):
                yield _read_value(row[0]), _read_value(row[1]), node
        elif node.type == "switch_case":
            yield from _find_pairs(get_field(node, "value"), node, node)
        elif node.type in {"if_statement", "ternary_expression"}:
            compared = _find_compared(get_field(node, "condition"))
            yield from _find_pairs(compared, get_field(node, "consequence"), node)


def _find_pairs(given: Node | None, body: Node | None, node: Node) -> Iterator[tuple[str, str, Node]]:
    if given is None or body is None or given.type not in _VALUES:
        return
    returned = [each for each in walk(body) if each.type == "return_statement"]
    values = [child for each in returned for child in list_children(each)] or [body]
    for value in values:
        if value.type in _VALUES:
            yield _read_value(given), _read_value(value), node


def _find_compared(condition: Node | None) -> Node | None:
    """Return the literal that something is compared with."""
    for node in walk(condition) if condition is not None else ():
        if node.type == "binary_expression" and get_text(get_field(node, "operator")) in {"==", "==="}:
            sides = [get_field(node, "left"), get_field(node, "right")]
            found = [each for each in sides if each is not None and each.type in _VALUES]
            if len(found) == 1:
                return found[0]
    return None


def check_repeated_literals(path: str, before: str, after: str, tests: Mapping[str, str]) -> Iterator[Fact]:
    expected = {value for test, source in tests.items() for value in _find_expected(test, source)}
    known = set(_find_literals(path, before)) if before else set()
    shared = sorted({value for value in _find_literals(path, after) if value in expected and value not in known})
    if shared:
        shown = ", ".join(f"`{value}`" for value in shared[:3])
        yield Fact(code="GRN402", path=path, message=f"the tests' literal {shown} occurs in the source")


def _find_expected(path: str, text: str) -> Iterator[str]:
    root = parse_text(select_grammar(path), text)
    for each in find_assertions(root, find_assertion_names(root)):
        if each.expected is not None:
            yield from (
                join_tokens(node) for node in walk(each.expected) if node.type in _VALUES and _is_distinctive(node)
            )


def _find_literals(path: str, text: str) -> Iterator[str]:
    root = parse_text(select_grammar(path), text)
    return (join_tokens(node) for node in walk(root) if node.type in _VALUES and _is_distinctive(node))


def _is_distinctive(node: Node) -> bool:
    return len(_read_value(node)) >= _MIN_LENGTH
