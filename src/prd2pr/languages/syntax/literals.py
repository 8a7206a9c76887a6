"""Find values that source and tests share: tables of the tests' examples in place of a rule, and single literals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.domain.evidence import Fact
from prd2pr.languages.syntax.nodes import get_field, get_line, get_text, list_children
from prd2pr.languages.syntax.queries import SyntaxFile

if TYPE_CHECKING:
    from tree_sitter import Node

_MIN_EXAMPLES = 2  # fewest examples answered one by one that are reported
_MIN_LENGTH = 4  # minimum number of characters; shorter literals may match by chance
_SUFFIX = re.compile(r"(?<=\d)_?[iuf](8|16|32|64|128|size)$")  # suffix of Rust's number types
_CELLS = frozenset({"literal_element", "keyed_element"})

Example = tuple[str, str]  # argument and expected value


@dataclass(frozen=True)
class SourceAnswer:
    """A place in the source that maps one literal to another."""

    given: str
    answer: str
    line: int


def read_value(node: Node) -> str:
    return _SUFFIX.sub("", get_text(node)).strip("'\"`").replace("_", "")


def find_row_examples(file: SyntaxFile) -> Iterator[Example]:
    """Yield examples from rows of literals in which the last cell is the expected value."""
    literals = {node.id for node in file.find_nodes("literal")}
    for node in file.find_nodes("row"):
        row = [_unwrap_cell(each) for each in list_children(node)]
        if len(row) > 1 and all(each.id in literals for each in row):
            yield from ((read_value(given), read_value(row[-1])) for given in row[:-1])


def _unwrap_cell(node: Node) -> Node:
    while node.type in _CELLS and (inner := get_field(node, "value") or next(iter(list_children(node)), None)):
        node = inner
    return node


def find_call_examples(file: SyntaxFile, subject: Iterable[Node], expected: Node) -> Iterator[Example]:
    """Yield the literal arguments of calls of the subject, each with the expected literal result."""
    for part in subject:
        for given in file.find_nodes("argument", part):
            yield read_value(given), read_value(expected)


def find_answers(file: SyntaxFile, within: Node | None = None) -> Iterator[SourceAnswer]:
    for match in file.find("answer.value", within):
        yield SourceAnswer(
            read_value(match["answer.given"]), read_value(match["answer.value"]), get_line(match["answer"])
        )
    literals = {node.id for node in file.find_nodes("literal")}
    for match in file.find("answer.body", within):
        body, answered = match["answer.body"], set[tuple[int, int]]()
        values = [(each["returned.statement"], each["returned"]) for each in file.find("returned", body)]
        if body.id in literals:
            values.append((body, body))
        for given in match.nodes.get("answer.given") or _find_compared(file, match["answer.condition"], literals):
            for statement, value in values:
                if (given.id, statement.id) not in answered:
                    answered.add((given.id, statement.id))
                    line = get_line(match["answer"] if "answer" in match.nodes else statement)
                    yield SourceAnswer(read_value(given), read_value(value), line)


def _find_compared(file: SyntaxFile, condition: Node, literals: set[int]) -> Iterator[Node]:
    """Yield the literals with which a condition compares something."""
    for node in file.find_nodes("equality", condition):
        found = [each for each in list_children(node) if each.id in literals]
        yield from found[:1] if len(found) == 1 else ()


def find_literals(file: SyntaxFile, within: Node | None = None) -> Iterator[str]:
    return map(get_text, file.find_nodes("literal", within))


def compare_example_tables(
    path: str, before: Iterable[SourceAnswer], after: Iterable[SourceAnswer], examples: set[Example]
) -> Iterator[Fact]:
    """Report source such as `if x == 25 { return 2 }; if x == 100 { return 10 }` if it repeats the tests' examples."""
    known = {(each.given, each.answer) for each in before}
    found = {(each.given, each.answer): each.line for each in after if (each.given, each.answer) not in known}
    hits = sorted(pair for pair in found if pair in examples)
    if len(hits) >= _MIN_EXAMPLES and len(hits) * 2 >= len(found):
        shown = ", ".join(f"{given} → {answer}" for given, answer in hits[:3])
        message = f"returns the tests' examples one by one: {shown}"
        yield Fact(code="GRN416", path=path, line=min(found[pair] for pair in hits), message=message)


def compare_repeated_literals(
    path: str, before: Iterable[str], after: Iterable[str], expected: set[str]
) -> Iterator[Fact]:
    known = set(before)
    shared = sorted({each for each in after if each in expected and each not in known and _is_distinctive(each)})
    if shared:
        shown = ", ".join(f"`{value}`" for value in shared[:3])
        yield Fact(code="GRN402", path=path, message=f"the tests' literal {shown} occurs in the source")


def _is_distinctive(literal: str) -> bool:
    return len(literal.strip("'\"`")) >= _MIN_LENGTH
