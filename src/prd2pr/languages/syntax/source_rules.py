"""Check source files: the findings of `source.scm` that a change adds, and values copied from the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.domain.evidence import Fact
from prd2pr.languages.base import SourceContext
from prd2pr.languages.syntax.literals import (
    Example,
    compare_example_tables,
    compare_repeated_literals,
    find_answers,
    find_literals,
)
from prd2pr.languages.syntax.nodes import get_line
from prd2pr.languages.syntax.queries import Found, Names, Syntax, SyntaxFile

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True)
class SourceChange:
    """A source file before and after a step. Both texts may be empty."""

    path: str
    before: SyntaxFile
    after: SyntaxFile
    context: SourceContext


@dataclass(frozen=True, eq=False)
class SourceRules:
    syntax: Syntax
    is_source: Callable[[str], bool]
    read_names: Callable[[str, SyntaxFile, SourceContext], Names]  # used by the predicates of the query
    find_examples: Callable[[SyntaxFile], Iterable[Example]]  # examples in a test file
    find_expected: Callable[[SyntaxFile], Iterable[str]]  # literals of a test file
    find_more: Callable[[str, SyntaxFile], Iterable[Found]] = lambda _, __: ()  # checks that a query cannot express
    compare: Callable[[SourceChange], Iterable[Fact]] = lambda _: ()  # findings about the change itself
    list_programs: Callable[[SyntaxFile], list[Node]] = lambda file: [file.root]  # parts that are not tests
    reports_known_answers: bool = False  # whether to report a table of examples that is not new

    def check(self, path: str, before: str, after: str, context: SourceContext) -> Iterator[Fact]:
        """Yield the facts that are new in this version of the file."""
        if not self.is_source(path):
            return
        change = SourceChange(path, self.syntax.read(path, before), self.syntax.read(path, after), context)
        known = {(code, message) for code, message, _ in self._find(change, change.before)}
        for code, message, node in self._find(change, change.after):
            if (code, message) not in known:
                yield Fact(code=code, path=path, line=get_line(node), message=message)
        yield from self.compare(change)
        yield from self._compare_values(change)

    def _find(self, change: SourceChange, file: SyntaxFile) -> Iterator[Found]:
        if file.text:
            yield from file.find_facts("source", self.read_names(change.path, file, change.context))
            yield from self.find_more(change.path, file)

    def _compare_values(self, change: SourceChange) -> Iterator[Fact]:
        tests = [self.syntax.read(path, text) for path, text in change.context.tests.items()]
        examples = {pair for test in tests for pair in self.find_examples(test)}
        expected = {literal for test in tests for literal in self.find_expected(test)}
        old, new = ([(file, part) for part in self.list_programs(file)] for file in (change.before, change.after))
        yield from compare_example_tables(
            change.path,
            () if self.reports_known_answers else (each for pair in old for each in find_answers(*pair)),
            (each for pair in new for each in find_answers(*pair)),
            examples,
        )
        yield from compare_repeated_literals(
            change.path,
            (each for pair in old for each in find_literals(*pair)),
            (each for pair in new for each in find_literals(*pair)),
            expected,
        )
