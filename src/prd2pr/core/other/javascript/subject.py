"""Which names of a test file stand for the project's own code, or for what came out of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prd2pr.core.other.javascript.imports import imports_in, string_of
from prd2pr.core.other.syntax import children, part, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_ROUNDS = 4  # through which names are followed: a = earn(); b = a.total; …
_PROGRAM = re.compile(r"(^|/)(src|lib|bin|app|dist)/|\.[cm]?[jt]s$")


def subject_names(root: Node) -> frozenset[str]:
    names = {each.local for each in imports_in(root) if each.is_own}
    bindings = [pair for node in walk(root) if (pair := _binding(node)) is not None]
    for _ in range(_ROUNDS):
        grown = names | {name for bound, value in bindings if _mentions(value, names) for name in bound}
        if grown == names:
            break
        names = grown
    return frozenset(names)


def _binding(node: Node) -> tuple[set[str], Node] | None:
    """Names that are given a value, and the value: variables, assignments, functions of the file."""
    if node.type == "variable_declarator":
        name, value = part(node, "name"), part(node, "value")
    elif node.type == "assignment_expression":
        name, value = part(node, "left"), part(node, "right")
    elif node.type == "function_declaration":
        name, value = part(node, "name"), part(node, "body")
    elif node.type == "for_in_statement":
        name, value = part(node, "left"), part(node, "right")
    else:
        return None
    if name is None or value is None:
        return None
    kinds = {"identifier", "shorthand_property_identifier_pattern"}
    return {text_of(each) for each in walk(name) if each.type in kinds}, value


def _mentions(node: Node, names: set[str] | frozenset[str]) -> bool:
    return any(each.type == "identifier" and text_of(each) in names for each in walk(node))


def uses_subject(node: Node, names: frozenset[str]) -> bool:
    """By a name, by importing it here, or by starting the project as a program."""
    return _mentions(node, names) or any(starts_program(each) for each in walk(node) if each.type == "call_expression")


def starts_program(node: Node) -> bool:
    callee = text_of(part(node, "function")).rpartition(".")[2]
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
    texts = [string_of(each) for given in children(part(node, "arguments")) for each in walk(given)]
    return any(_PROGRAM.search(text) for text in texts if text)
