"""Find the names in a Go test file that refer to the tested code or to its results."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from prd2pr.languages.golang.files import SYNTAX, read_package_name
from prd2pr.languages.golang.imports import read_imports
from prd2pr.languages.syntax.nodes import get_field, get_text, list_children, walk
from prd2pr.languages.syntax.queries import SyntaxFile
from prd2pr.languages.syntax.subject import find_declared_names, follow_names

if TYPE_CHECKING:
    from tree_sitter import Node

_WORDS = """
    append cap clear close complex copy delete imag len make max min new panic print println real recover true false
    nil iota bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string
    uint uint8 uint16 uint32 uint64 uintptr any _
"""
BUILT_IN = frozenset(_WORDS.split())
_STARTS = frozenset({"exec.Command", "exec.CommandContext"})


def find_foreign_names(file: SyntaxFile) -> frozenset[str]:
    """Return the names that a test in the same package uses but does not declare."""
    if read_package_name(file.root).endswith("_test"):
        return frozenset()
    used = {
        get_text(node)
        for node in walk(file.root)
        if node.type in {"identifier", "type_identifier"}
        and not (node.parent is not None and node.parent.type == "qualified_type")
    }
    return frozenset(used - find_declared_names(file) - {each.local for each in read_imports(file.root)} - BUILT_IN)


@lru_cache(maxsize=64)
def find_subject_names(file: SyntaxFile) -> frozenset[str]:
    """Return imported packages of the project, names of the same package, and names derived from them."""
    own = {each.local for each in read_imports(file.root) if each.is_own}
    starting = {name for name, body in _find_functions(file).items() if _starts_program(file, body)}
    return follow_names(file, own | starting | find_foreign_names(file))


def find_subject_functions(path: str, text: str) -> frozenset[str]:
    """Return the functions of a test file that use the project's code or start a program."""
    file = SYNTAX.read(path, text)
    return find_subject_names(file) & _find_functions(file).keys()


def _find_functions(file: SyntaxFile) -> dict[str, Node]:
    found = list_children(file.root, "function_declaration")
    return {get_text(get_field(node, "name")): node for node in found}


def uses_subject(file: SyntaxFile, node: Node, names: frozenset[str]) -> bool:
    """Return whether the node mentions the tested code or starts a program, which may be the project's own."""
    return file.syntax.mentions(node, names) or _starts_program(file, node)


def _starts_program(file: SyntaxFile, node: Node) -> bool:
    return any(get_text(match["use.head"]) in _STARTS for match in file.find("use", node))
