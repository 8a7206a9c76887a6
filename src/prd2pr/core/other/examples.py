"""Values that source and tests share: a table of the tests' examples in place of the rule, and single literals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prd2pr.core.evidence import Fact

_ENOUGH = 2  # examples that are answered one by one
_TELLING = 4  # characters, below which a literal may be the same by chance

Example = tuple[str, str]  # what is given, and what is expected


@dataclass(frozen=True)
class Answer:
    """A place in the source that answers one given value with one other."""

    given: str
    answer: str
    line: int


def tables_of_examples(
    path: str, before: Iterable[Answer], after: Iterable[Answer], asked: set[Example]
) -> Iterator[Fact]:
    """`if x == 25 { return 2 }; if x == 100 { return 10 }`, where the tests ask just that."""
    known = {(each.given, each.answer) for each in before}
    found = {(each.given, each.answer): each.line for each in after if (each.given, each.answer) not in known}
    hits = sorted(pair for pair in found if pair in asked)
    if len(hits) >= _ENOUGH and len(hits) * 2 >= len(found):
        shown = ", ".join(f"{given} → {answer}" for given, answer in hits[:3])
        said = f"answers the tests' examples one by one: {shown}"
        yield Fact(code="GRN416", path=path, line=min(found[pair] for pair in hits), message=said)


def repeated_literals(path: str, before: Iterable[str], after: Iterable[str], expected: set[str]) -> Iterator[Fact]:
    known = set(before)
    shared = sorted({each for each in after if each in expected and each not in known and is_telling(each)})
    if shared:
        shown = ", ".join(f"`{value}`" for value in shared[:3])
        yield Fact(code="GRN402", path=path, message=f"{shown} of the tests occurs in the source")


def is_telling(literal: str) -> bool:
    return len(literal.strip("'\"`")) >= _TELLING


def value_of(literal: str) -> str:
    return literal.strip("'\"`").replace("_", "")
