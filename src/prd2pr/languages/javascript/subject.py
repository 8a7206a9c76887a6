"""Find the names in a test file that refer to the tested code or to its results."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prd2pr.languages.javascript.imports import read_imports, read_string
from prd2pr.languages.syntax import get_field, get_text, list_children, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_ROUNDS = 4  # of following names: a = earn(); b = a.total; …
_PROGRAM = re.compile(r"(^|/)(src|lib|bin|app|dist)/|\.[cm]?[jt]s$")


def find_subject_names(root: Node) -> frozenset[str]:
    names = {each.local for each in read_imports(root) if each.is_own}
    bindings = [pair for node in walk(root) if (pair := _read_binding(node)) is not None]
    for _ in range(_MAX_ROUNDS):
        grown = names | {name for bound, value in bindings if _mentions_name(value, names) for name in bound}
        if grown == names:
            break
        names = grown
    return frozenset(names)


def _read_binding(node: Node) -> tuple[set[str], Node] | None:
    """Return bound names and their value: variables, assignments, functions of the file."""
    if node.type == "variable_declarator":
        name, value = get_field(node, "name"), get_field(node, "value")
    elif node.type == "assignment_expression":
        name, value = get_field(node, "left"), get_field(node, "right")
    elif node.type == "function_declaration":
        name, value = get_field(node, "name"), get_field(node, "body")
    elif node.type == "for_in_statement":
        name, value = get_field(node, "left"), get_field(node, "right")
    else:
        return None
    if name is None or value is None:
        return None
    kinds = {"identifier", "shorthand_property_identifier_pattern"}
    return {get_text(each) for each in walk(name) if each.type in kinds}, value


def _mentions_name(node: Node, names: set[str] | frozenset[str]) -> bool:
    return any(each.type == "identifier" and get_text(each) in names for each in walk(node))


def uses_subject(node: Node, names: frozenset[str]) -> bool:
    """Return whether the node mentions the tested code, imports it, or starts it as a program."""
    return _mentions_name(node, names) or any(
        starts_program(each) for each in walk(node) if each.type == "call_expression"
    )


def starts_program(node: Node) -> bool:
    callee = get_text(get_field(node, "function")).rpartition(".")[2]
    if callee not in {
        "spawn",
        "spawnSync",
        "exec",
        "execSync",
        "execFile",
        "execFileSync",
        "fork",
        "import",
        "require",
    }:
        return False
    texts = [read_string(each) for given in list_children(get_field(node, "arguments")) for each in walk(given)]
    return any(_PROGRAM.search(text) for text in texts if text)
