"""Find the names in a Rust test file that refer to the tested code or to its results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.languages.rust.use_declarations import GLOB, find_own_crates, read_uses
from prd2pr.languages.syntax import get_field, get_text, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_ROUNDS = 4
_NAMES = frozenset({"identifier", "type_identifier", "shorthand_field_identifier"})
_WORDS = """
    Some None Ok Err Box Vec String Option Result vec assert assert_eq assert_ne debug_assert format println print
    eprintln panic matches write writeln todo unimplemented unreachable Default Self true false drop
"""
BUILT_IN = frozenset(_WORDS.split())
_STARTS = ("CARGO_BIN_EXE_", "cargo_bin")


def find_subject_names(root: Node) -> frozenset[str]:
    uses = [each for each in read_uses(root) if each.is_own]
    names = {each.local for each in uses} - {GLOB} | find_own_crates(root) | {"crate", "super"} & _find_path_roots(root)
    names |= find_crates_in_paths(root)
    if any(each.local == GLOB for each in uses):
        names |= {get_text(node) for node in walk(root) if node.type in _NAMES} - set(_find_declared(root)) - BUILT_IN
    names |= {get_text(get_field(node, "name")) for node in walk(root) if _starts_program(node)}
    bindings = [pair for node in walk(root) if (pair := _read_binding(node)) is not None]
    for _ in range(_MAX_ROUNDS):
        grown = names | {name for bound, value in bindings if mentions_name(value, names) for name in bound}
        if grown == names:
            break
        names = grown
    return frozenset(names - {"_"})


def find_crates_in_paths(root: Node) -> set[str]:
    """Return crates used without `use`: `shop::points::redeem(2)`."""
    return {first for first in _find_path_roots(root) if first.islower() and _is_crate(first, root)}


def _starts_program(node: Node) -> bool:
    """Return whether the function starts the project's program."""
    return node.type == "function_item" and any(sign in get_text(node) for sign in _STARTS)


def _find_path_roots(root: Node) -> set[str]:
    """Return the first segments of paths such as `shop::points::redeem(2)`, also inside macros."""
    found: set[str] = set()
    for node in walk(root):
        if node.type == "scoped_identifier":
            found.add(get_text(node).partition("::")[0])
        elif node.type == "::" and node.prev_sibling is not None and node.prev_sibling.type in {"identifier", "crate"}:
            before = node.prev_sibling.prev_sibling
            if before is None or before.type != "::":
                found.add(get_text(node.prev_sibling))
    return found


def _is_crate(name: str, root: Node) -> bool:
    """Return whether the name is neither declared nor imported here, so that it is another crate."""
    known = {each.local for each in read_uses(root)} | set(_find_declared(root))
    return name not in known and name not in {"std", "core", "alloc", "self", "super", "common", "rand"}


def _find_declared(root: Node) -> Iterator[str]:
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
            yield get_text(get_field(node, "name"))
        elif node.type in {"let_declaration", "parameter", "for_expression", "let_condition"}:
            pattern = get_field(node, "pattern")
            yield from (get_text(each) for each in walk(pattern) if each.type == "identifier") if pattern else ()
        elif node.type in {"closure_parameters", "match_pattern"}:
            yield from (get_text(each) for each in walk(node) if each.type == "identifier" and get_text(each).islower())


def _read_binding(node: Node) -> tuple[set[str], Node] | None:
    if node.type in {"let_declaration", "for_expression", "let_condition"}:
        name, value = get_field(node, "pattern"), get_field(node, "value")
    elif node.type in {"const_item", "static_item"}:
        name, value = get_field(node, "name"), get_field(node, "value")
    elif node.type == "function_item":
        name, value = get_field(node, "name"), get_field(node, "body")
    elif node.type == "assignment_expression":
        name, value = get_field(node, "left"), get_field(node, "right")
    elif node.type == "match_expression":
        value, body = get_field(node, "value"), get_field(node, "body")
        arms = [each for each in walk(body) if each.type == "match_pattern"] if body is not None else []
        bound = {get_text(each) for arm in arms for each in walk(arm) if each.type == "identifier"}
        return (bound - BUILT_IN, value) if value is not None else None
    else:
        return None
    if name is None or value is None:
        return None
    return {get_text(each) for each in walk(name) if each.type == "identifier"} - BUILT_IN, value


def mentions_name(node: Node, names: set[str] | frozenset[str]) -> bool:
    return any(each.type in {*_NAMES, "crate", "super"} and get_text(each) in names for each in walk(node))


def uses_subject(node: Node, names: frozenset[str]) -> bool:
    """Return whether the node mentions the tested code or starts the project's program."""
    return mentions_name(node, names) or any(sign in get_text(node) for sign in _STARTS)
