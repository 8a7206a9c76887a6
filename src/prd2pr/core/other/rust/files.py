"""Rust files by their names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prd2pr.core.other.syntax import parsed

if TYPE_CHECKING:
    from tree_sitter import Node

ENDINGS = (".rs",)
GRAMMAR = "rust"
# What Cargo makes a test program of; what lies deeper is a module of one.
_PROGRAM = re.compile(r"(^|/)tests/(\w[\w-]*\.rs|\w[\w-]*/main\.rs)$")


def is_test_file(path: str) -> bool:
    return bool(_PROGRAM.search(path))


def target_of(path: str) -> str:
    """How Cargo calls the test program: `tests/earn.rs` and `tests/earn/main.rs` are both `earn`."""
    return path.removesuffix("/main.rs").removesuffix(".rs").rpartition("/")[2]


def root_of(text: str) -> Node:
    return parsed(GRAMMAR, text)


def module_of(path: str) -> str:
    """`src/points/mod.rs` and `src/points.rs` are `points`; what is at the root of a crate is the crate itself."""
    inner = path.rpartition("src/")[2].removesuffix(".rs").removesuffix("/mod")
    return "crate" if inner in {"lib", "main"} else inner.replace("/", ".")
