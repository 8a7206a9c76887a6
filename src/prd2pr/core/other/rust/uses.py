"""What a Rust file brings in by `use`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.core.other.syntax import children, part, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

GLOB = "*"
# Crates that tests are written with, and those of the language: nothing of them is what is tested.
_OTHERS = frozenset(
    [
        *("std", "core", "alloc", "test", "proc_macro", "self", "common", "helpers", "support"),
        *("proptest", "quickcheck", "rstest", "test_case", "pretty_assertions", "assert_matches", "insta", "mockall"),
        *("tempfile", "assert_cmd", "predicates", "serial_test", "tokio", "async_std", "futures", "rand"),
    ]
)


@dataclass(frozen=True)
class Used:
    local: str  # the name here; `*` for everything
    path: tuple[str, ...]  # shop, points, redeem

    @property
    def is_own(self) -> bool:
        return self.path[0] not in _OTHERS

    @property
    def dotted(self) -> str:
        return ".".join(part for part in self.path if part != GLOB)


def uses_in(root: Node) -> tuple[Used, ...]:
    return tuple(
        used
        for node in walk(root)
        if node.type == "use_declaration"
        for argument in [part(node, "argument")]
        if argument is not None
        for used in _used(argument, ())
        if used.path
    )


def _used(node: Node, before: tuple[str, ...]) -> Iterator[Used]:
    if node.type in {"scoped_use_list", "use_list"}:
        inner = (*before, *_words(part(node, "path")))
        for each in children(part(node, "list") or node):
            yield from _used(each, inner)
    elif node.type == "use_as_clause":
        yield Used(text_of(part(node, "alias")), (*before, *_words(part(node, "path"))))
    elif node.type == "use_wildcard":
        yield Used(GLOB, (*before, *(word for each in children(node) for word in _words(each)), GLOB))
    elif node.type == "self":
        yield Used(before[-1] if before else "self", before)
    else:
        path = (*before, *_words(node))
        yield Used(path[-1] if path else "", path)


def _words(node: Node | None) -> tuple[str, ...]:
    return tuple(word for word in text_of(node).replace(" ", "").split("::") if word) if node is not None else ()


def own_crates(root: Node) -> frozenset[str]:
    return frozenset(each.path[0] for each in uses_in(root) if each.is_own)
