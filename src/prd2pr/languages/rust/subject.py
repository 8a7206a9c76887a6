"""Find the names in a Rust test file that refer to the tested code or to its results."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from prd2pr.languages.rust.files import SYNTAX
from prd2pr.languages.rust.use_declarations import GLOB, find_own_crates, read_uses
from prd2pr.languages.syntax.nodes import get_field, get_text, walk
from prd2pr.languages.syntax.queries import SyntaxFile
from prd2pr.languages.syntax.subject import find_declared_names, follow_names, list_pattern_names

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMES = frozenset({"identifier", "type_identifier", "shorthand_field_identifier"})
_WORDS = """
    Some None Ok Err Box Vec String Option Result vec assert assert_eq assert_ne debug_assert format println print
    eprintln panic matches write writeln todo unimplemented unreachable Default Self true false drop
"""
BUILT_IN = frozenset(_WORDS.split())
_NO_CRATES = frozenset({"std", "core", "alloc", "self", "super", "common", "rand"})
_STARTS = ("CARGO_BIN_EXE_", "cargo_bin")
_NAMED = frozenset({"function_item", "const_item", "static_item"})


@lru_cache(maxsize=64)
def find_subject_names(file: SyntaxFile) -> frozenset[str]:
    root = file.root
    uses = [each for each in read_uses(root) if each.is_own]
    names = {each.local for each in uses} - {GLOB} | find_own_crates(root) | {"crate", "super"} & _find_path_roots(root)
    names |= find_crates_in_paths(file)
    if any(each.local == GLOB for each in uses):
        names |= {get_text(node) for node in walk(root) if node.type in _NAMES} - _find_declared(file) - BUILT_IN
    names |= {get_text(get_field(node, "name")) for node in walk(root) if _starts_program(node)}
    return follow_names(file, names, BUILT_IN)


def find_subject_functions(path: str, text: str) -> frozenset[str]:
    """Return the functions of a test file or helper module that use the project's code or start its program."""
    file = SYNTAX.read(path, text)
    functions = (node for node in walk(file.root) if node.type == "function_item")
    return find_subject_names(file) & {get_text(get_field(node, "name")) for node in functions}


def find_crates_in_paths(file: SyntaxFile) -> set[str]:
    """Return crates used by path, as in `shop::points::redeem(2)`, that the file neither declares nor imports."""
    known = {each.local for each in read_uses(file.root)} | _find_declared(file)
    return {first for first in _find_path_roots(file.root) if first.islower()} - known - _NO_CRATES


def _starts_program(node: Node) -> bool:
    """Return whether the function starts the project's program, or the constant contains its path."""
    return node.type in _NAMED and any(sign in get_text(node) for sign in _STARTS)


def _find_path_roots(root: Node) -> set[str]:
    """Return the first segments of paths such as `shop::points::redeem(2)`, including those inside macros."""
    found: set[str] = set()
    for node in walk(root):
        if node.type == "scoped_identifier":
            found.add(get_text(node).partition("::")[0])
        elif node.type == "::" and node.prev_sibling is not None and node.prev_sibling.type in {"identifier", "crate"}:
            before = node.prev_sibling.prev_sibling
            if before is None or before.type != "::":
                found.add(get_text(node.prev_sibling))
    return found


def _find_declared(file: SyntaxFile) -> set[str]:
    variables = {name for node in file.find_nodes("declared.variables") for name in list_pattern_names(node)}
    return find_declared_names(file) | {name for name in variables if name.islower()}


def uses_subject(file: SyntaxFile, node: Node, names: frozenset[str]) -> bool:
    """Return whether the node mentions the tested code or starts the project's program."""
    return file.syntax.mentions(node, names) or any(sign in get_text(node) for sign in _STARTS)
