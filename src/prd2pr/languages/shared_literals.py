"""Values shared by source and tests: tables of the tests' examples instead of a rule, and single literals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prd2pr.domain.evidence import Fact

_MIN_EXAMPLES = 2  # examples answered one by one
_MIN_LENGTH = 4  # characters; shorter literals may coincide by chance

Example = tuple[str, str]  # argument and expected value


@dataclass(frozen=True)
class SourceAnswer:
    """A place in the source that maps one literal to another."""

    given: str
    answer: str
    line: int


def compare_example_tables(
    path: str, before: Iterable[SourceAnswer], after: Iterable[SourceAnswer], examples: set[Example]
) -> Iterator[Fact]:
    """`if x == 25 { return 2 }; if x == 100 { return 10 }`, if the tests use just these examples."""
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
    shared = sorted({each for each in after if each in expected and each not in known and is_distinctive(each)})
    if shared:
        shown = ", ".join(f"`{value}`" for value in shared[:3])
        yield Fact(code="GRN402", path=path, message=f"the tests' literal {shown} occurs in the source")


def is_distinctive(literal: str) -> bool:
    return len(literal.strip("'\"`")) >= _MIN_LENGTH


def strip_literal(literal: str) -> str:
    return literal.strip("'\"`").replace("_", "")
