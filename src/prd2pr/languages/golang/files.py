"""Names of Go files and packages."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from prd2pr.languages.syntax.nodes import get_field, get_text, join_tokens, list_children
from prd2pr.languages.syntax.queries import Names, Syntax, ancestors

if TYPE_CHECKING:
    from tree_sitter import Node

ENDINGS = (".go",)


def is_test_file(path: str) -> bool:
    """Return whether Go runs the file: it is not in `testdata`, and no name starts with a dot or an underscore."""
    parts = path.split("/")
    return path.endswith("_test.go") and not any(each.startswith(("_", ".")) or each == "testdata" for each in parts)


def parse_source(text: str) -> Node:
    return SYNTAX.read("", text).root


def read_package_name(root: Node) -> str:
    """Return the declared package, such as `shop`, or `shop_test` for external tests."""
    clause = next(iter(list_children(root, "package_clause")), None)
    return get_text(list_children(clause)[0]) if clause is not None and list_children(clause) else ""


def name_module(path: str) -> str:
    """Return the name that designs use for a package: the name of its directory."""
    return posixpath.basename(posixpath.dirname(path)) or "main"


def name_package(path: str, root: Node) -> str:
    """Return the declared package, because a module's root package may have any name, or else the directory's name."""
    own = read_package_name(root).removesuffix("_test")
    return own or name_module(path)


def _runs_at_start(node: Node, _: Sequence[str], __: Names) -> bool:
    """Return whether Go runs the node when it loads the package."""
    around = [each for each in ancestors(node) if each.type in {"function_declaration", "method_declaration"}]
    return not around or get_text(get_field(around[0], "name")) == "init"


def _is_in_test_main(node: Node, _: Sequence[str], __: Names) -> bool:
    around = next((each for each in ancestors(node) if each.type == "function_declaration"), None)
    return get_text(get_field(around, "name")) == "TestMain"


def _runs_all(main: Node, _: Sequence[str], __: Names) -> bool:
    """Return whether this `TestMain` runs all tests and exits with their status."""
    parameters = list_children(get_field(main, "parameters"))
    context, text = get_text(get_field(parameters[0], "name")) if parameters else "", join_tokens(main)
    exits = re.findall(r"os \. Exit \( ([^)]*\)?) ?\)", text)
    return f"{context} . Run ( )" in text and all(not each.strip().isdigit() for each in exits)


SYNTAX = Syntax(
    "golang",
    lambda _: "go",
    frozenset({"identifier", "type_identifier", "package_identifier"}),
    {"at-start?": _runs_at_start, "in-test-main?": _is_in_test_main, "runs-all?": _runs_all},
)
