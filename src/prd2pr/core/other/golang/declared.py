"""Which tests a Go file declares, under which ids: test functions, and the subtests that `t.Run` begins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from prd2pr.core.other.golang.files import package_of, root_of
from prd2pr.core.other.golang.imports import imports_in, last_of, local_names
from prd2pr.core.other.golang.subject import foreign_names, mentions, subject_names
from prd2pr.core.other.ids import SEPARATOR, named, plain
from prd2pr.core.other.language import Declared, TestFile
from prd2pr.core.other.syntax import (
    above,
    children,
    first_error,
    last_line,
    line_of,
    part,
    text_of,
    tokens,
    walk,
)

if TYPE_CHECKING:
    from tree_sitter import Node

HOLE = "…"
_OUTPUT = re.compile(r"//\s*(unordered )?output:", re.IGNORECASE)


@dataclass(frozen=True)
class Test:
    """A test function, or the call of `Run` that begins a subtest."""

    __test__ = False
    node: Node
    body: Node | None
    titles: tuple[str, ...]  # with HOLE for what only the run tells
    context: str  # what its *testing.T is called

    @property
    def is_holed(self) -> bool:
        return HOLE in self.titles


@lru_cache(maxsize=512)
def read_tests(path: str, text: str) -> TestFile:
    root = root_of(text)
    lines = text.splitlines()
    names = subject_names(root)
    return TestFile(
        tests=tuple(dict.fromkeys(_declared(path, each, lines) for each in tests_in(root))),
        broken=first_error(root),
        subject_lines=tuple(sorted(set(_subject_lines(root, names)))),
        called=tuple(sorted(set(_called(root, names)))),
    )


def tests_in(root: Node) -> Iterator[Test]:
    """In the order of the text, each before its subtests."""
    testing = local_names(root, "testing") or frozenset({"testing"})
    for node in children(root, "function_declaration"):
        name, body = text_of(part(node, "name")), part(node, "body")
        if is_test_function(node, testing):
            yield from _with_subtests(Test(node, body, (name,), parameter_of(node)))
        elif name.startswith("Example") and _OUTPUT.search(text_of(body)):
            yield Test(node, body, (name,), "")


def is_test_function(node: Node, testing: frozenset[str]) -> bool:
    """By its name and its one parameter. `Testearn` is one for whoever wrote it, and none for Go."""
    name = text_of(part(node, "name"))
    given = children(part(node, "parameters"))
    kind = tokens(given[0]).rpartition(" ")[0] + tokens(given[0]) if len(given) == 1 else ""
    wanted = [f"{each} . {letter}" for each in testing for letter in "TF"]
    return name.startswith(("Test", "Fuzz")) and any(each in kind for each in wanted)


def parameter_of(node: Node) -> str:
    given = children(part(node, "parameters"))
    return text_of(part(given[0], "name")) if given else ""


def _with_subtests(test: Test) -> Iterator[Test]:
    yield test
    if test.body is not None:
        for call in _runs(test.body, test.context):
            title, function = _given(call)
            if function is None:
                yield Test(call, None, (*test.titles, *_titles(title)), "")
            else:
                inner = Test(call, part(function, "body"), (*test.titles, *_titles(title)), parameter_of(function))
                yield from _with_subtests(inner)


def _runs(body: Node, context: str) -> Iterator[Node]:
    """Calls of `t.Run`, but not those inside of others."""
    waiting = [body]
    while waiting:
        node = waiting.pop(0)
        callee = part(node, "function") if node.type == "call_expression" else None
        if callee is not None and text_of(callee) == f"{context}.Run" and len(children(part(node, "arguments"))) == 2:
            yield node
        else:
            waiting = [*node.children, *waiting]


def _given(call: Node) -> tuple[Node, Node | None]:
    title, function = children(part(call, "arguments"))
    return title, function if function.type == "func_literal" else None


def _titles(node: Node) -> tuple[str, ...]:
    if node.type in {"interpreted_string_literal", "raw_string_literal"}:
        return tuple(rewritten(text_of(node)[1:-1]).split("/"))
    return (HOLE,)


def rewritten(title: str) -> str:
    """As Go itself writes a subtest's name."""
    return re.sub(r"\s", "_", title)


def _declared(path: str, test: Test, lines: list[str]) -> Declared:
    top = test.node
    while top.parent is not None and top.parent.parent is not None:
        top = top.parent
    return Declared(
        id=named(path, test.titles),
        line=line_of(test.node),
        last=last_line(test.node),
        body=tokens(test.body or test.node),
        said="\n".join([above(top, lines), " ".join(test.titles), text_of(test.node)]),
        pattern=SEPARATOR.join(".*" if title == HOLE else re.escape(plain(title)) for title in test.titles)
        if test.is_holed
        else "",
    )


def _subject_lines(root: Node, names: frozenset[str]) -> Iterator[int]:
    """Lines on which something of the project is called, or made, or asked for a property."""
    for node in walk(root):
        if node.type in {"call_expression", "composite_literal"}:
            head = part(node, "function") or part(node, "type")
            if head is not None and mentions(head, names):
                yield from range(line_of(node), last_line(node) + 1)
        elif node.type in {"selector_expression", "index_expression"} and mentions(node, names):
            yield line_of(node)


def _called(root: Node, names: frozenset[str]) -> Iterator[str]:
    """`shop.Earn`, `shop.Cart`; of methods of its objects `.Add`."""
    packages = {each.local: last_of(each.path) for each in imports_in(root) if each.is_own}
    package = package_of(root)
    yield from (f"{package}.{name}" for name in foreign_names(root))
    for node in walk(root):
        if node.type in {"selector_expression", "qualified_type"}:
            parts = children(node)
            first, last = text_of(parts[0]), text_of(parts[-1])
            if first in packages:
                yield f"{packages[first]}.{last}"
            elif mentions(parts[0], names):
                yield f".{last}"
