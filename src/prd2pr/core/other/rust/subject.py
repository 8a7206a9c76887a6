"""Which names of a Rust test file stand for what is tested, or for what came out of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.core.other.rust.uses import GLOB, own_crates, uses_in
from prd2pr.core.other.syntax import part, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_ROUNDS = 4
_NAMES = frozenset({"identifier", "type_identifier", "shorthand_field_identifier"})
_WORDS = """
    Some None Ok Err Box Vec String Option Result vec assert assert_eq assert_ne debug_assert format println print
    eprintln panic matches write writeln todo unimplemented unreachable Default Self true false drop
"""
BUILT_IN = frozenset(_WORDS.split())
_ITEMS = frozenset({"function_item", "struct_item", "enum_item", "mod_item", "const_item", "static_item", "type_item"})
_STARTS = ("CARGO_BIN_EXE_", "cargo_bin")


def subject_names(root: Node) -> frozenset[str]:
    uses = [each for each in uses_in(root) if each.is_own]
    names = {each.local for each in uses} - {GLOB} | own_crates(root) | {"crate", "super"} & _paths(root)
    names |= crates_in_paths(root)
    if any(each.local == GLOB for each in uses):
        names |= {text_of(node) for node in walk(root) if node.type in _NAMES} - set(_declared(root)) - BUILT_IN
    names |= {text_of(part(node, "name")) for node in walk(root) if _starts_program(node)}
    bindings = [pair for node in walk(root) if (pair := _binding(node)) is not None]
    for _ in range(_ROUNDS):
        grown = names | {name for bound, value in bindings if mentions(value, names) for name in bound}
        if grown == names:
            break
        names = grown
    return frozenset(names - {"_"})


def crates_in_paths(root: Node) -> set[str]:
    """Crates that are used without a `use`: `shop::points::redeem(2)`."""
    return {first for first in _paths(root) if first.islower() and _is_crate(first, root)}


def _starts_program(node: Node) -> bool:
    """A function of the tests by which they start the project's program."""
    return node.type == "function_item" and any(sign in text_of(node) for sign in _STARTS)


def _paths(root: Node) -> set[str]:
    """First words of paths such as `shop::points::redeem(2)`, outside of macros and inside."""
    found: set[str] = set()
    for node in walk(root):
        if node.type == "scoped_identifier":
            found.add(text_of(node).partition("::")[0])
        elif node.type == "::" and node.prev_sibling is not None and node.prev_sibling.type in {"identifier", "crate"}:
            before = node.prev_sibling.prev_sibling
            if before is None or before.type != "::":
                found.add(text_of(node.prev_sibling))
    return found


def _is_crate(name: str, root: Node) -> bool:
    """A path that begins with a name which nothing here declares or brings in: that of another crate."""
    known = {each.local for each in uses_in(root)} | set(_declared(root))
    return name not in known and name not in {"std", "core", "alloc", "self", "super", "common", "rand"}


def _declared(root: Node) -> Iterator[str]:
    for node in walk(root):
        if node.type in {
            "function_item",
            "struct_item",
            "enum_item",
            "mod_item",
            "const_item",
            "static_item",
            "type_item",
        }:
            yield text_of(part(node, "name"))
        elif node.type in {"let_declaration", "parameter", "for_expression", "let_condition"}:
            pattern = part(node, "pattern")
            yield from (text_of(each) for each in walk(pattern) if each.type == "identifier") if pattern else ()
        elif node.type in {"closure_parameters", "match_pattern"}:
            yield from (text_of(each) for each in walk(node) if each.type == "identifier" and text_of(each).islower())


def _binding(node: Node) -> tuple[set[str], Node] | None:
    if node.type in {"let_declaration", "for_expression", "let_condition"}:
        name, value = part(node, "pattern"), part(node, "value")
    elif node.type in {"const_item", "static_item"}:
        name, value = part(node, "name"), part(node, "value")
    elif node.type == "function_item":
        name, value = part(node, "name"), part(node, "body")
    elif node.type == "assignment_expression":
        name, value = part(node, "left"), part(node, "right")
    elif node.type == "match_expression":
        value, body = part(node, "value"), part(node, "body")
        arms = [each for each in walk(body) if each.type == "match_pattern"] if body is not None else []
        bound = {text_of(each) for arm in arms for each in walk(arm) if each.type == "identifier"}
        return (bound - BUILT_IN, value) if value is not None else None
    else:
        return None
    if name is None or value is None:
        return None
    return {text_of(each) for each in walk(name) if each.type == "identifier"} - BUILT_IN, value


def mentions(node: Node, names: set[str] | frozenset[str]) -> bool:
    return any(each.type in {*_NAMES, "crate", "super"} and text_of(each) in names for each in walk(node))


def uses_subject(node: Node, names: frozenset[str]) -> bool:
    """By a name, or by starting the project's program."""
    return mentions(node, names) or any(sign in text_of(node) for sign in _STARTS)
