"""Check test files: the findings of `test_files.scm` and `tests.scm`, and those about the assertions of each test."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from prd2pr.domain.evidence import Fact
from prd2pr.languages.base import DeclaredTestCase, TestContext
from prd2pr.languages.syntax.nodes import get_last_line, get_line, get_text, list_children, read_comment_above
from prd2pr.languages.syntax.queries import Found, Names, Syntax, SyntaxFile, ancestors
from prd2pr.languages.test_ids import SEPARATOR, make_test_id, normalize_title

if TYPE_CHECKING:
    from tree_sitter import Node

MakeFact = Callable[..., Fact]  # takes code, message and node
HOLE = "…"  # a title that is known only at run time
_BLOCKS = frozenset({"block", "statement_list", "statement_block"})
_LEAVING = frozenset({"return_statement", "throw_statement", "return_expression"})


@dataclass(frozen=True)
class TestFunction:
    """A test as declared in the text: a function, or the call that is given one."""

    __test__ = False
    node: Node
    body: Node | None
    titles: tuple[str, ...]


def make_declared_test(path: str, test: TestFunction, program: str, lines: list[str], top: Node) -> DeclaredTestCase:
    """Describe a test for the evidence. `program` detects edits, and the comment above `top` may name criteria."""
    pieces = (".*" if title == HOLE else re.escape(normalize_title(title)) for title in test.titles)
    return DeclaredTestCase(
        id=make_test_id(path, test.titles),
        line=get_line(test.node),
        last=get_last_line(test.node),
        body=program,
        described="\n".join([read_comment_above(top, lines), " ".join(test.titles), get_text(test.node)]),
        pattern=SEPARATOR.join(pieces) if HOLE in test.titles else "",
    )


Test = TypeVar("Test", bound=TestFunction)


@dataclass(frozen=True, eq=False)
class TestRules(Generic[Test]):
    __test__ = False
    syntax: Syntax
    is_test_file: Callable[[str], bool]
    read_names: Callable[[str, SyntaxFile, TestContext], Names]  # used by the predicates of the queries
    find_tests: Callable[[SyntaxFile], Iterable[Test]]
    check_test: Callable[[SyntaxFile, Test, Names, MakeFact], Iterable[Fact]]  # checks that a query cannot express
    check_file: Callable[[str, SyntaxFile, TestContext], Iterable[Found]] = lambda _, __, ___: ()

    def check(self, path: str, text: str, context: TestContext) -> Iterator[Fact]:
        file = self.syntax.read(path, text)
        names = self.read_names(path, file, context)
        for code, message, node in (
            *self.check_file(path, file, context),
            *file.find_facts("test_files", names),
        ):
            yield Fact(code=code, path=path, line=get_line(node), message=message)
        if not self.is_test_file(path):
            return
        excuses = list(file.find_facts("tests", names))
        for test in self.find_tests(file):
            id_ = make_test_id(path, test.titles)
            if not context.new_tests or id_ in context.new_tests:
                yield from self._check_test(path, id_, test, file, names, excuses)

    def _check_test(  # noqa: PLR0917 everything that the checks depend on
        self, path: str, id_: str, test: Test, file: SyntaxFile, names: Names, excuses: list[Found]
    ) -> Iterator[Fact]:
        def fact(code: str, message: str, node: Node | None = None) -> Fact:
            return Fact(code=code, path=path, line=get_line(node or test.node), test=id_, message=message)

        for code, message, node in excuses:
            if test.node.start_byte <= node.start_byte and node.end_byte <= test.node.end_byte:
                yield fact(code, message, node)
        yield from self.check_test(file, test, names, fact)


def is_unreachable(node: Node, top: Node) -> bool:
    """Return whether an earlier statement of the same block always leaves it."""
    inner = node
    for parent in ancestors(node, top):
        if parent.type in _BLOCKS:
            before = [each for each in list_children(parent) if each.end_byte <= inner.start_byte]
            if any(_leaves(each) for each in before):
                return True
        inner = parent
    return False


def _leaves(statement: Node) -> bool:
    inner = list_children(statement) if statement.type == "expression_statement" else []
    return statement.type in _LEAVING or (len(inner) == 1 and inner[0].type in _LEAVING)


def shorten(node: Node | None) -> str:
    return " ".join(get_text(node).split())[:80]
