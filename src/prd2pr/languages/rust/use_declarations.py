"""The `use` declarations of a Rust file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.languages.syntax.nodes import get_field, get_text, list_children, walk

if TYPE_CHECKING:
    from tree_sitter import Node

GLOB = "*"
# Standard crates and test libraries, which are not the code under test.
_FOREIGN_CRATES = frozenset(
    [
        *("std", "core", "alloc", "test", "proc_macro", "self", "common", "helpers", "support"),
        *("proptest", "quickcheck", "rstest", "test_case", "pretty_assertions", "assert_matches", "insta", "mockall"),
        *("tempfile", "assert_cmd", "predicates", "serial_test", "tokio", "async_std", "futures", "rand"),
    ]
)


@dataclass(frozen=True)
class UseDeclaration:
    local: str  # local name, or `*` for everything
    path: tuple[str, ...]  # such as shop, points, redeem

    @property
    def is_own(self) -> bool:
        return self.path[0] not in _FOREIGN_CRATES

    @property
    def dotted(self) -> str:
        return ".".join(part for part in self.path if part != GLOB)


def read_uses(root: Node) -> tuple[UseDeclaration, ...]:
    return tuple(
        used
        for node in walk(root)
        if node.type == "use_declaration"
        for argument in [get_field(node, "argument")]
        if argument is not None
        for used in _walk_uses(argument, ())
        if used.path
    )


def _walk_uses(node: Node, before: tuple[str, ...]) -> Iterator[UseDeclaration]:
    if node.type in {"scoped_use_list", "use_list"}:
        inner = (*before, *_split_path(get_field(node, "path")))
        for each in list_children(get_field(node, "list") or node):
            yield from _walk_uses(each, inner)
    elif node.type == "use_as_clause":
        yield UseDeclaration(get_text(get_field(node, "alias")), (*before, *_split_path(get_field(node, "path"))))
    elif node.type == "use_wildcard":
        yield UseDeclaration(
            GLOB, (*before, *(word for each in list_children(node) for word in _split_path(each)), GLOB)
        )
    elif node.type == "self":
        yield UseDeclaration(before[-1] if before else "self", before)
    else:
        path = (*before, *_split_path(node))
        yield UseDeclaration(path[-1] if path else "", path)


def _split_path(node: Node | None) -> tuple[str, ...]:
    return tuple(word for word in get_text(node).replace(" ", "").split("::") if word) if node is not None else ()


def find_own_crates(root: Node) -> frozenset[str]:
    return frozenset(each.path[0] for each in read_uses(root) if each.is_own)
