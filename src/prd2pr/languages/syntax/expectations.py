"""Replace the expected values of tests, to find tests that do not check the value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic

from prd2pr.languages.mutation_plan import Fault
from prd2pr.languages.syntax.faults import make_perturbation
from prd2pr.languages.syntax.queries import Syntax, SyntaxFile
from prd2pr.languages.syntax.test_rules import Test
from prd2pr.languages.test_ids import normalize_title

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, eq=False)
class Expectations(Generic[Test]):
    """The expected values of a language's tests."""

    syntax: Syntax
    find_tests: Callable[[SyntaxFile], Iterable[Test]]
    find_values: Callable[
        [SyntaxFile, Node], Iterable[tuple[Node, str]]
    ]  # finds the values in a body, each with another of the same type
    title: int = -1  # index of the title that names the test

    def make_wrong(self, path: str, text: str) -> tuple[Fault, ...]:
        file = self.syntax.read(path, text)
        found: dict[tuple[int, int], Fault] = {}
        for test in self.find_tests(file):
            for node, other in self.find_values(file, test.body) if test.body is not None else ():
                if other:
                    fault = make_perturbation(path, normalize_title(test.titles[self.title]), node, other)
                    found.setdefault(fault.edit[:2], fault)
        return tuple(found.values())
