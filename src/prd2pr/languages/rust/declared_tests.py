"""Find the tests that a Rust file declares, with their ids."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from prd2pr.languages.base import ParsedTestFile
from prd2pr.languages.rust.files import SYNTAX
from prd2pr.languages.rust.items import find_items
from prd2pr.languages.rust.subject import find_crates_in_paths, find_subject_names
from prd2pr.languages.rust.use_declarations import GLOB, find_own_crates, read_uses
from prd2pr.languages.syntax.nodes import (
    find_first_error,
    get_field,
    get_text,
    join_tokens,
    walk,
)
from prd2pr.languages.syntax.queries import SyntaxFile
from prd2pr.languages.syntax.subject import list_subject_lines
from prd2pr.languages.syntax.test_rules import HOLE, TestFunction, make_declared_test

if TYPE_CHECKING:
    from tree_sitter import Node

_TEST = re.compile(r"^(\w+ :: )*test$|^(\w+ :: )*test \(|^test_log :: test")
_CASES = re.compile(r"^(rstest|test_case|case|parameterized|test_matrix)\b")


@dataclass(frozen=True)
class RustTest(TestFunction):
    attributes: tuple[str, ...] = ()

    @property
    def program(self) -> str:
        return " ".join([*self.attributes, join_tokens(self.body or self.node)])


@lru_cache(maxsize=512)
def read_tests(path: str, text: str) -> ParsedTestFile:
    file, lines = SYNTAX.read(path, text), text.splitlines()
    return ParsedTestFile(
        tests=tuple(make_declared_test(path, each, each.program, lines, each.node) for each in find_tests(file)),
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


def _find_used_names(file: SyntaxFile) -> Iterator[str]:
    """Yield the names that the file uses: `shop.points.redeem`, or `.add` for a method of the project's objects."""
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
    """Yield the rest of each path that starts with `name::`, in code and in macros."""
    for found in re.finditer(rf"\b{re.escape(name)}((?:\s*::\s*\w+)+)", get_text(root)):
        yield ".".join(re.findall(r"\w+", found[1]))
