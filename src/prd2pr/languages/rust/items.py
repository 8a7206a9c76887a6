"""Items of a Rust file with their attributes, including the items of inner modules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.languages.syntax.nodes import get_field, get_text, join_tokens, list_children

if TYPE_CHECKING:
    from tree_sitter import Node

_TEST_ONLY = re.compile(r"^cfg \( (all \( )?test\b")


@dataclass(frozen=True)
class Item:
    node: Node
    attributes: tuple[str, ...]  # as tokens, such as `cfg ( test )`
    modules: tuple[str, ...]
    owner: str = ""  # type of an `impl`, or the enclosing trait
    trait: str = ""  # trait that the `impl` implements
    in_tests: bool = False  # whether the item or its module exists only for tests

    @property
    def name(self) -> str:
        return get_text(get_field(self.node, "name"))

    @property
    def is_public(self) -> bool:
        return any(each.type == "visibility_modifier" and get_text(each) == "pub" for each in self.node.children)


def find_items(root: Node) -> Iterator[Item]:
    yield from _walk_items(root, (), "", "", in_tests=False)


def _walk_items(holder: Node, modules: tuple[str, ...], owner: str, trait: str, *, in_tests: bool) -> Iterator[Item]:
    attributes: list[str] = []
    for node in list_children(holder):
        if node.type == "attribute_item":
            attributes.append(join_tokens(list_children(node)[0]) if list_children(node) else "")
            continue
        if node.type == "inner_attribute_item":
            continue
        own = in_tests or any(_TEST_ONLY.match(each) for each in attributes)
        item = Item(node, tuple(attributes), modules, owner, trait, own)
        yield item
        attributes = []
        body = get_field(node, "body")
        if body is None:
            continue
        if node.type == "mod_item":
            yield from _walk_items(body, (*modules, item.name), "", "", in_tests=own)
        elif node.type == "impl_item":
            about, of = strip_type_arguments(get_field(node, "type")), strip_type_arguments(get_field(node, "trait"))
            yield from _walk_items(body, modules, about, of, in_tests=own)
        elif node.type == "trait_item":
            yield from _walk_items(body, modules, item.name, "", in_tests=own)


def strip_type_arguments(node: Node | None) -> str:
    """Return a type without its arguments, such as `Cart` for `Cart<T>`."""
    return re.sub(r"\s*<.*", "", get_text(node), flags=re.DOTALL).rpartition("::")[2].lstrip("&")


def find_inner_attributes(root: Node) -> Iterator[tuple[str, Node]]:
    for node in list_children(root, "inner_attribute_item"):
        if list_children(node):
            yield join_tokens(list_children(node)[0]), node
