"""Names of Rust files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prd2pr.languages.syntax import parse_text

if TYPE_CHECKING:
    from tree_sitter import Node

ENDINGS = (".rs",)
GRAMMAR = "rust"
# Files that Cargo builds as test programs; deeper ones are modules of these.
_PROGRAM = re.compile(r"(^|/)tests/(\w[\w-]*\.rs|\w[\w-]*/main\.rs)$")


def is_test_file(path: str) -> bool:
    return bool(_PROGRAM.search(path))


def name_target(path: str) -> str:
    """Return Cargo's name of the test program: `earn` for `tests/earn.rs` and `tests/earn/main.rs`."""
    return path.removesuffix("/main.rs").removesuffix(".rs").rpartition("/")[2]


def parse_source(text: str) -> Node:
    return parse_text(GRAMMAR, text)


def name_module(path: str) -> str:
    """Return the module: `points` for `src/points/mod.rs` and `src/points.rs`, `crate` for the crate's root."""
    inner = path.rpartition("src/")[2].removesuffix(".rs").removesuffix("/mod")
    return "crate" if inner in {"lib", "main"} else inner.replace("/", ".")
