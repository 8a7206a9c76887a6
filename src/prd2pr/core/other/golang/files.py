"""Go files by their names, and packages by theirs."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from prd2pr.core.other.syntax import children, parsed, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

ENDINGS = (".go",)
GRAMMAR = "go"


def is_test_file(path: str) -> bool:
    """Go itself looks into no directory of samples, and at nothing that begins with a dot or an underscore."""
    parts = path.split("/")
    return path.endswith("_test.go") and not any(each.startswith(("_", ".")) or each == "testdata" for each in parts)


def root_of(text: str) -> Node:
    return parsed(GRAMMAR, text)


def package_of(root: Node) -> str:
    """As the file says it: `shop`, or `shop_test` for tests that stand outside."""
    clause = next(iter(children(root, "package_clause")), None)
    return text_of(children(clause)[0]) if clause is not None and children(clause) else ""


def module_of(path: str) -> str:
    """How designs name what is in it: by the package, which in Go is called as its directory is."""
    return posixpath.basename(posixpath.dirname(path)) or "main"


def named_package(path: str, root: Node) -> str:
    """The same, where the file itself can be asked: the package at the root of a module is called as it likes."""
    own = package_of(root).removesuffix("_test")
    return own or module_of(path)
