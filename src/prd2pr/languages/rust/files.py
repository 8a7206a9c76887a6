"""Names of Rust files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from prd2pr.languages.syntax.nodes import get_field, get_text
from prd2pr.languages.syntax.queries import Names, Syntax, ancestors

if TYPE_CHECKING:
    from tree_sitter import Node

ENDINGS = (".rs",)
# Matches files that Cargo builds as test programs. Files in deeper directories are their modules.
_PROGRAM = re.compile(r"(^|/)tests/(\w[\w-]*\.rs|\w[\w-]*/main\.rs)$")


def is_test_file(path: str) -> bool:
    return bool(_PROGRAM.search(path))


def name_target(path: str) -> str:
    """Return Cargo's name for the test program, such as `earn` for `tests/earn.rs` and `tests/earn/main.rs`."""
    return path.removesuffix("/main.rs").removesuffix(".rs").rpartition("/")[2]


def parse_source(text: str) -> Node:
    return SYNTAX.read("", text).root


def name_module(path: str) -> str:
    """Return the module: `points` for `src/points/mod.rs` and `src/points.rs`, `crate` for the root of the crate."""
    inner = path.rpartition("src/")[2].removesuffix(".rs").removesuffix("/mod")
    return "crate" if inner in {"lib", "main"} else inner.replace("/", ".")


def _is_in_function_with(node: Node, words: Sequence[str], _: Names) -> bool:
    """Return whether the enclosing function contains the pattern."""
    around = next((each for each in ancestors(node) if each.type == "function_item"), None)
    return around is not None and re.search(words[0], get_text(around)) is not None


def _is_iterated(node: Node, _: Sequence[str], __: Names) -> bool:
    """Return whether a loop iterates over the value that contains the node."""
    inner = node
    for parent in ancestors(node):
        if parent.type == "for_expression" and get_field(parent, "value") == inner:
            return True
        inner = parent
    return False


SYNTAX = Syntax(
    "rust",
    lambda _: "rust",
    frozenset({"identifier", "type_identifier", "shorthand_field_identifier", "crate", "super"}),
    {"in-function-with?": _is_in_function_with, "iterated?": _is_iterated},
)
