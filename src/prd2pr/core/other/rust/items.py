"""Items of a Rust file with the attributes that stand above them, modules opened."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.core.other.syntax import children, part, text_of, tokens

if TYPE_CHECKING:
    from tree_sitter import Node

_FOR_TESTS = re.compile(r"^cfg \( (all \( )?test\b")


@dataclass(frozen=True)
class Item:
    node: Node
    attributes: tuple[str, ...]  # by their words: `cfg ( test )`
    modules: tuple[str, ...]
    owner: str = ""  # the type that an `impl` is about, or the trait
    trait: str = ""  # that is implemented
    in_tests: bool = False  # it, or something around it, exists for tests alone

    @property
    def name(self) -> str:
        return text_of(part(self.node, "name"))

    @property
    def is_public(self) -> bool:
        return any(each.type == "visibility_modifier" and text_of(each) == "pub" for each in self.node.children)


def items_in(root: Node) -> Iterator[Item]:
    yield from _items(root, (), "", "", in_tests=False)


def _items(holder: Node, modules: tuple[str, ...], owner: str, trait: str, *, in_tests: bool) -> Iterator[Item]:
    attributes: list[str] = []
    for node in children(holder):
        if node.type == "attribute_item":
            attributes.append(tokens(children(node)[0]) if children(node) else "")
            continue
        if node.type == "inner_attribute_item":
            continue
        own = in_tests or any(_FOR_TESTS.match(each) for each in attributes)
        item = Item(node, tuple(attributes), modules, owner, trait, own)
        yield item
        attributes = []
        body = part(node, "body")
        if body is None:
            continue
        if node.type == "mod_item":
            yield from _items(body, (*modules, item.name), "", "", in_tests=own)
        elif node.type == "impl_item":
            about, of = plain_type(part(node, "type")), plain_type(part(node, "trait"))
            yield from _items(body, modules, about, of, in_tests=own)
        elif node.type == "trait_item":
            yield from _items(body, modules, item.name, "", in_tests=own)


def plain_type(node: Node | None) -> str:
    """A type without its parameters: `Cart` for `Cart<T>`."""
    return re.sub(r"\s*<.*", "", text_of(node), flags=re.DOTALL).rpartition("::")[2].lstrip("&")


def inner_attributes(root: Node) -> Iterator[tuple[str, Node]]:
    for node in children(root, "inner_attribute_item"):
        if children(node):
            yield tokens(children(node)[0]), node
