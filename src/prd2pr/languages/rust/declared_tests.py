"""Find the tests that a Rust file declares, with their ids."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from prd2pr.languages.base import DeclaredTestCase, ParsedTestFile
from prd2pr.languages.rust.files import parse_source
from prd2pr.languages.rust.items import find_items
from prd2pr.languages.rust.subject import find_crates_in_paths, find_subject_names, mentions_name
from prd2pr.languages.rust.use_declarations import GLOB, find_own_crates, read_uses
from prd2pr.languages.syntax import (
    find_first_error,
    get_field,
    get_last_line,
    get_line,
    get_text,
    join_tokens,
    read_comment_above,
    walk,
)
from prd2pr.languages.test_ids import SEPARATOR, make_test_id, normalize_title

if TYPE_CHECKING:
    from tree_sitter import Node

HOLE = "…"
_TEST = re.compile(r"^(\w+ :: )*test$|^(\w+ :: )*test \(|^test_log :: test")
_CASES = re.compile(r"^(rstest|test_case|case|parameterized|test_matrix)\b")


@dataclass(frozen=True)
class TestFunction:
    __test__ = False
    node: Node
    attributes: tuple[str, ...]
    titles: tuple[str, ...]

    @property
    def body(self) -> Node | None:
        return get_field(self.node, "body")


@lru_cache(maxsize=512)
def read_tests(path: str, text: str) -> ParsedTestFile:
    root = parse_source(text)
    lines = text.splitlines()
    names = find_subject_names(root)
    return ParsedTestFile(
        tests=tuple(_make_declared(path, each, lines) for each in find_tests(root)),
        broken=find_first_error(root),
        subject_lines=tuple(sorted(set(_find_subject_lines(root, names)))),
        called=tuple(sorted(set(_find_used_names(root)))),
    )


def find_tests(root: Node) -> Iterator[TestFunction]:
    for item in find_items(root):
        if item.node.type != "function_item":
            continue
        if any(_CASES.match(each) for each in item.attributes):
            yield TestFunction(item.node, item.attributes, (*item.modules, item.name, HOLE))
        elif any(_TEST.match(each) for each in item.attributes):
            yield TestFunction(item.node, item.attributes, (*item.modules, item.name))


def _make_declared(path: str, test: TestFunction, lines: list[str]) -> DeclaredTestCase:
    holed = HOLE in test.titles
    return DeclaredTestCase(
        id=make_test_id(path, test.titles),
        line=get_line(test.node),
        last=get_last_line(test.node),
        body=" ".join([*test.attributes, join_tokens(test.body or test.node)]),
        described="\n".join([read_comment_above(test.node, lines), " ".join(test.titles), get_text(test.node)]),
        pattern=SEPARATOR.join(".*" if title == HOLE else re.escape(normalize_title(title)) for title in test.titles)
        if holed
        else "",
    )


def _find_subject_lines(root: Node, names: frozenset[str]) -> Iterator[int]:
    """Yield lines of expressions that use the project's code."""
    for node in walk(root):
        if node.type in {
            "call_expression",
            "macro_invocation",
            "field_expression",
            "scoped_identifier",
        } and mentions_name(node, names):
            yield from range(get_line(node), get_last_line(node) + 1)


def _find_used_names(root: Node) -> Iterator[str]:
    """Yield used names such as `shop.points.redeem`; for methods of its objects `.add`."""
    own = find_own_crates(root) | find_crates_in_paths(root)
    for used in read_uses(root):
        if used.is_own:
            yield used.dotted
            if used.local != GLOB:
                yield from (f"{used.dotted}.{name}" for name in _find_path_suffixes(root, used.local))
    for crate in own:
        yield from (f"{crate}.{name}" for name in _find_path_suffixes(root, crate))
    for node in walk(root):
        if node.type == "field_identifier":
            yield f".{get_text(node)}"


def _find_path_suffixes(root: Node, name: str) -> Iterator[str]:
    """Yield what follows `name::`, in code and in macros."""
    for found in re.finditer(rf"\b{re.escape(name)}((?:\s*::\s*\w+)+)", get_text(root)):
        yield ".".join(re.findall(r"\w+", found[1]))
