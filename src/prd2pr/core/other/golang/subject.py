"""Which names of a Go test file stand for what is tested, or for what came out of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.core.other.golang.files import package_of
from prd2pr.core.other.golang.imports import imports_in
from prd2pr.core.other.syntax import children, part, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_ROUNDS = 4  # through which names are followed: got := Earn(); total := got.Total; …
_WORDS = """
    append cap clear close complex copy delete imag len make max min new panic print println real recover true false
    nil iota bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string
    uint uint8 uint16 uint32 uint64 uintptr any _
"""
BUILT_IN = frozenset(_WORDS.split())
_NAMES = frozenset({"identifier", "type_identifier", "package_identifier"})
_STARTS = frozenset({"exec.Command", "exec.CommandContext"})


def foreign_names(root: Node) -> frozenset[str]:
    """For tests inside of the package: names that the file uses and does not declare."""
    if package_of(root).endswith("_test"):
        return frozenset()
    declared = set(_declared(root)) | {each.local for each in imports_in(root)} | BUILT_IN
    return frozenset({text_of(node) for node in _used(root)} - declared)


def subject_names(root: Node) -> frozenset[str]:
    """Own packages that are imported, all that comes from the same package, and what is made of either."""
    names = {each.local for each in imports_in(root) if each.is_own} | foreign_names(root)
    bindings = [pair for node in walk(root) if (pair := _binding(node)) is not None]
    for _ in range(_ROUNDS):
        grown = names | {name for bound, value in bindings if mentions(value, names) for name in bound}
        if grown == names:
            break
        names = grown
    return frozenset(names - {"_"})


def _used(root: Node) -> Iterator[Node]:
    """Names that are called, made or asked for something; not fields and not labels."""
    for node in walk(root):
        qualified = node.parent is not None and node.parent.type == "qualified_type"
        if node.type in {"identifier", "type_identifier"} and not qualified:
            yield node


def _declared(root: Node) -> Iterator[str]:
    for node in walk(root):
        if node.type in {"function_declaration", "type_spec", "type_alias", "const_spec", "var_spec"} or node.type in {
            "parameter_declaration",
            "variadic_parameter_declaration",
            "type_parameter_declaration",
        }:
            yield from (text_of(each) for each in node.children_by_field_name("name"))
        elif node.type in {"short_var_declaration", "range_clause", "receive_statement"}:
            left = part(node, "left")
            yield from (text_of(each) for each in children(left)) if left is not None else ()
        elif node.type == "keyed_element":  # names of fields
            key = part(node, "key")
            yield from (text_of(each) for each in walk(key) if each.type == "identifier") if key is not None else ()
        elif node.type == "type_switch_statement":
            yield from (text_of(each) for each in node.children_by_field_name("alias"))


def _binding(node: Node) -> tuple[set[str], Node] | None:
    if node.type in {"short_var_declaration", "assignment_statement", "range_clause"}:
        name, value = part(node, "left"), part(node, "right")
    elif node.type in {"var_spec", "const_spec"}:
        name, value = node, part(node, "value")
    elif node.type == "function_declaration":
        name, value = part(node, "name"), part(node, "body")
    else:
        return None
    if name is None or value is None:
        return None
    if node.type in {"var_spec", "const_spec"}:
        return {text_of(each) for each in node.children_by_field_name("name")}, value
    return {text_of(each) for each in walk(name) if each.type == "identifier"}, value


def mentions(node: Node, names: set[str] | frozenset[str]) -> bool:
    return any(each.type in _NAMES and text_of(each) in names for each in walk(node))


def uses_subject(node: Node, names: frozenset[str]) -> bool:
    """By a name, or by starting a program: that of the project is built and started by its tests."""
    return mentions(node, names) or any(
        each.type == "call_expression" and text_of(part(each, "function")) in _STARTS for each in walk(node)
    )
