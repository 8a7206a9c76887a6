"""Names of Go files and packages."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from prd2pr.languages.syntax import get_text, list_children, parse_text

if TYPE_CHECKING:
    from tree_sitter import Node

ENDINGS = (".go",)
GRAMMAR = "go"


def is_test_file(path: str) -> bool:
    """Return whether Go runs the file: not in `testdata`, and no name with a leading dot or underscore."""
    parts = path.split("/")
    return path.endswith("_test.go") and not any(each.startswith(("_", ".")) or each == "testdata" for each in parts)


def parse_source(text: str) -> Node:
    return parse_text(GRAMMAR, text)


def read_package_name(root: Node) -> str:
    """Return the declared package: `shop`, or `shop_test` for external tests."""
    clause = next(iter(list_children(root, "package_clause")), None)
    return get_text(list_children(clause)[0]) if clause is not None and list_children(clause) else ""


def name_module(path: str) -> str:
    """Return the name used in designs: the package, named after its directory."""
    return posixpath.basename(posixpath.dirname(path)) or "main"


def name_package(path: str, root: Node) -> str:
    """Return the declared package, since the one at a module's root may have any name; else the directory's name."""
    own = read_package_name(root).removesuffix("_test")
    return own or name_module(path)
