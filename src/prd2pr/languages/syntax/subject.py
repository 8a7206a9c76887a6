"""Find the names in a test file that refer to the tested code or to its results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.languages.syntax.nodes import get_last_line, get_line, get_text, list_children, walk
from prd2pr.languages.syntax.queries import SyntaxFile

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_ROUNDS = 4  # rounds of following names: got = earn(); total = got.total; …
_BOUND = frozenset({"identifier", "shorthand_property_identifier_pattern"})


def list_pattern_names(node: Node) -> set[str]:
    """Return the names in a pattern, or a single name of any kind."""
    if not list_children(node):
        return {get_text(node)}
    return {get_text(each) for each in walk(node) if each.type in _BOUND}


def find_declared_names(file: SyntaxFile) -> set[str]:
    return {name for node in file.find_nodes("declared") for name in list_pattern_names(node)}


def follow_names(
    file: SyntaxFile, names: set[str] | frozenset[str], built_in: frozenset[str] = frozenset()
) -> frozenset[str]:
    """Return the names, and the names bound to values that mention them."""
    bindings = [
        (list_pattern_names(node) - built_in, match["binding.value"])
        for match in file.find("binding.value")
        for node in match.nodes["binding.name"]
    ]
    for _ in range(_MAX_ROUNDS):
        grown = set(names).union(*(bound for bound, value in bindings if file.syntax.mentions(value, names)))
        if grown == names:
            break
        names = grown
    return frozenset(names) - {"_"}


def list_subject_lines(file: SyntaxFile, names: frozenset[str]) -> tuple[int, ...]:
    """Return the lines that use the project's code: all lines of a call, and the first line of any other use."""
    found = set(_walk_subject_lines(file, names))
    return tuple(sorted(found))


def _walk_subject_lines(file: SyntaxFile, names: frozenset[str]) -> Iterator[int]:
    for match in file.find("use"):
        if file.syntax.mentions(match["use.head"], names):
            node = match["use"]
            yield from range(get_line(node), get_last_line(node) + 1)
    for node in file.find_nodes("use.line"):
        if file.syntax.mentions(node, names):
            yield get_line(node)
