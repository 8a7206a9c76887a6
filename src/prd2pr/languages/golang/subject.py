"""Find the names in a Go test file that refer to the tested code or to its results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.languages.golang.files import read_package_name
from prd2pr.languages.golang.imports import read_imports
from prd2pr.languages.syntax import get_field, get_text, list_children, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_ROUNDS = 4  # of following names: got := Earn(); total := got.Total; …
_WORDS = """
    append cap clear close complex copy delete imag len make max min new panic print println real recover true false
    nil iota bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string
    uint uint8 uint16 uint32 uint64 uintptr any _
"""
BUILT_IN = frozenset(_WORDS.split())
_NAMES = frozenset({"identifier", "type_identifier", "package_identifier"})
_STARTS = frozenset({"exec.Command", "exec.CommandContext"})


def find_foreign_names(root: Node) -> frozenset[str]:
    """Return names that a test in the same package uses but does not declare."""
    if read_package_name(root).endswith("_test"):
        return frozenset()
    declared = set(_find_declared(root)) | {each.local for each in read_imports(root)} | BUILT_IN
    return frozenset({get_text(node) for node in _find_used(root)} - declared)


def find_subject_names(root: Node) -> frozenset[str]:
    """Return imported packages of the project, names of the same package, and names derived from these."""
    names = {each.local for each in read_imports(root) if each.is_own} | find_foreign_names(root)
    bindings = [pair for node in walk(root) if (pair := _read_binding(node)) is not None]
    for _ in range(_MAX_ROUNDS):
        grown = names | {name for bound, value in bindings if mentions_name(value, names) for name in bound}
        if grown == names:
            break
        names = grown
    return frozenset(names - {"_"})


def _find_used(root: Node) -> Iterator[Node]:
    """Yield used names, except fields and labels."""
    for node in walk(root):
        qualified = node.parent is not None and node.parent.type == "qualified_type"
        if node.type in {"identifier", "type_identifier"} and not qualified:
            yield node


def _find_declared(root: Node) -> Iterator[str]:
    for node in walk(root):
        if node.type in {"function_declaration", "type_spec", "type_alias", "const_spec", "var_spec"} or node.type in {
            "parameter_declaration",
            "variadic_parameter_declaration",
            "type_parameter_declaration",
        }:
            yield from (get_text(each) for each in node.children_by_field_name("name"))
        elif node.type in {"short_var_declaration", "range_clause", "receive_statement"}:
            left = get_field(node, "left")
            yield from (get_text(each) for each in list_children(left)) if left is not None else ()
        elif node.type == "keyed_element":  # names of fields
            key = get_field(node, "key")
            yield from (get_text(each) for each in walk(key) if each.type == "identifier") if key is not None else ()
        elif node.type == "type_switch_statement":
            yield from (get_text(each) for each in node.children_by_field_name("alias"))


def _read_binding(node: Node) -> tuple[set[str], Node] | None:
    if node.type in {"short_var_declaration", "assignment_statement", "range_clause"}:
        name, value = get_field(node, "left"), get_field(node, "right")
    elif node.type in {"var_spec", "const_spec"}:
        name, value = node, get_field(node, "value")
    elif node.type == "function_declaration":
        name, value = get_field(node, "name"), get_field(node, "body")
    else:
        return None
    if name is None or value is None:
        return None
    if node.type in {"var_spec", "const_spec"}:
        return {get_text(each) for each in node.children_by_field_name("name")}, value
    return {get_text(each) for each in walk(name) if each.type == "identifier"}, value


def mentions_name(node: Node, names: set[str] | frozenset[str]) -> bool:
    return any(each.type in _NAMES and get_text(each) in names for each in walk(node))


def uses_subject(node: Node, names: frozenset[str]) -> bool:
    """Return whether the node mentions the tested code or starts a program, such as the project's."""
    return mentions_name(node, names) or any(
        each.type == "call_expression" and get_text(get_field(each, "function")) in _STARTS for each in walk(node)
    )
