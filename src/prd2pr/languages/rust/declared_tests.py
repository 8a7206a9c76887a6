"""Find the tests that a Rust file declares, with their ids."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from prd2pr.languages.base import DeclaredTestCase, ParsedTestFile
from prd2pr.languages.rust.files import SYNTAX
from prd2pr.languages.rust.items import find_items
from prd2pr.languages.rust.subject import find_crates_in_paths, find_subject_names
from prd2pr.languages.rust.use_declarations import GLOB, find_own_crates, read_uses
from prd2pr.languages.syntax.nodes import (
    find_first_error,
    get_field,
    get_last_line,
    get_line,
    get_text,
    join_tokens,
    read_comment_above,
    walk,
)
from prd2pr.languages.syntax.queries import SyntaxFile
from prd2pr.languages.syntax.subject import list_subject_lines
from prd2pr.languages.syntax.test_rules import TestFunction
from prd2pr.languages.test_ids import SEPARATOR, make_test_id, normalize_title

if TYPE_CHECKING:
    from tree_sitter import Node

HOLE = "…"
_TEST = re.compile(r"^(\w+ :: )*test$|^(\w+ :: )*test \(|^test_log :: test")
_CASES = re.compile(r"^(rstest|test_case|case|parameterized|test_matrix)\b")


@dataclass(frozen=True)
class RustTest(TestFunction):
    attributes: tuple[str, ...] = ()


@lru_cache(maxsize=512)
def read_tests(path: str, text: str) -> ParsedTestFile:
    file, lines = SYNTAX.read(path, text), text.splitlines()
    return ParsedTestFile(
        tests=tuple(_make_declared(path, each, lines) for each in find_tests(file)),
        broken=find_first_error(file.root),
        subject_lines=list_subject_lines(file, find_subject_names(file)),
        called=tuple(sorted(set(_find_used_names(file)))),
    )


def find_tests(file: SyntaxFile) -> Iterator[RustTest]:
    for item in find_items(file.root):
        if item.node.type != "function_item":
            continue
        body, titles = get_field(item.node, "body"), (*item.modules, item.name)
        if any(_CASES.match(each) for each in item.attributes):
            yield RustTest(item.node, body, (*titles, HOLE), item.attributes)
        elif any(_TEST.match(each) for each in item.attributes):
            yield RustTest(item.node, body, titles, item.attributes)


def _make_declared(path: str, test: RustTest, lines: list[str]) -> DeclaredTestCase:
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


def _find_used_names(file: SyntaxFile) -> Iterator[str]:
    """Yield used names such as `shop.points.redeem`; for methods of its objects `.add`."""
    root = file.root
    own = find_own_crates(root) | find_crates_in_paths(file)
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
