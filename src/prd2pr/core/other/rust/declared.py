"""Which tests a Rust file declares, under which ids."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from prd2pr.core.other.ids import SEPARATOR, named, plain
from prd2pr.core.other.language import Declared, TestFile
from prd2pr.core.other.rust.files import root_of
from prd2pr.core.other.rust.items import items_in
from prd2pr.core.other.rust.subject import crates_in_paths, mentions, subject_names
from prd2pr.core.other.rust.uses import GLOB, own_crates, uses_in
from prd2pr.core.other.syntax import above, first_error, last_line, line_of, part, text_of, tokens, walk

if TYPE_CHECKING:
    from tree_sitter import Node

HOLE = "…"
_TEST = re.compile(r"^(\w+ :: )*test$|^(\w+ :: )*test \(|^test_log :: test")
_CASES = re.compile(r"^(rstest|test_case|case|parameterized|test_matrix)\b")


@dataclass(frozen=True)
class Test:
    __test__ = False
    node: Node
    attributes: tuple[str, ...]
    titles: tuple[str, ...]

    @property
    def body(self) -> Node | None:
        return part(self.node, "body")


@lru_cache(maxsize=512)
def read_tests(path: str, text: str) -> TestFile:
    root = root_of(text)
    lines = text.splitlines()
    names = subject_names(root)
    return TestFile(
        tests=tuple(_declared(path, each, lines) for each in tests_in(root)),
        broken=first_error(root),
        subject_lines=tuple(sorted(set(_subject_lines(root, names)))),
        called=tuple(sorted(set(_called(root)))),
    )


def tests_in(root: Node) -> Iterator[Test]:
    for item in items_in(root):
        if item.node.type != "function_item":
            continue
        if any(_CASES.match(each) for each in item.attributes):
            yield Test(item.node, item.attributes, (*item.modules, item.name, HOLE))
        elif any(_TEST.match(each) for each in item.attributes):
            yield Test(item.node, item.attributes, (*item.modules, item.name))


def _declared(path: str, test: Test, lines: list[str]) -> Declared:
    holed = HOLE in test.titles
    return Declared(
        id=named(path, test.titles),
        line=line_of(test.node),
        last=last_line(test.node),
        body=" ".join([*test.attributes, tokens(test.body or test.node)]),
        said="\n".join([above(test.node, lines), " ".join(test.titles), text_of(test.node)]),
        pattern=SEPARATOR.join(".*" if title == HOLE else re.escape(plain(title)) for title in test.titles)
        if holed
        else "",
    )


def _subject_lines(root: Node, names: frozenset[str]) -> Iterator[int]:
    """Lines of statements that use something of the project."""
    for node in walk(root):
        if node.type in {"call_expression", "macro_invocation", "field_expression", "scoped_identifier"} and mentions(
            node, names
        ):
            yield from range(line_of(node), last_line(node) + 1)


def _called(root: Node) -> Iterator[str]:
    """`shop.points.redeem`; of methods of its objects `.add`."""
    own = own_crates(root) | crates_in_paths(root)
    for used in uses_in(root):
        if used.is_own:
            yield used.dotted
            if used.local != GLOB:
                yield from (f"{used.dotted}.{name}" for name in _behind(root, used.local))
    for crate in own:
        yield from (f"{crate}.{name}" for name in _behind(root, crate))
    for node in walk(root):
        if node.type == "field_identifier":
            yield f".{text_of(node)}"


def _behind(root: Node, name: str) -> Iterator[str]:
    """What follows `name::`, in code and in macros."""
    for found in re.finditer(rf"\b{re.escape(name)}((?:\s*::\s*\w+)+)", text_of(root)):
        yield ".".join(re.findall(r"\w+", found[1]))
