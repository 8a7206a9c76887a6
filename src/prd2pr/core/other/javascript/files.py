"""JavaScript and TypeScript files by their names."""

from __future__ import annotations

import re

ENDINGS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts")
# What node, vitest and jest look for between them; a directory alone makes a test file of helpers as well.
_NAMED = re.compile(r"(^|/)(test|test-[^/]*|[^/]*[._-](test|spec))\.[cm]?[jt]sx?$")
_IN_DIRECTORY = re.compile(
    r"(^|/)__tests__/(?!.*(helpers?|fixtures?|utils|setup|__mocks__|__snapshots__)).*\.[cm]?[jt]sx?$"
)


def grammar_of(path: str) -> str:
    if path.endswith((".ts", ".mts", ".cts")):
        return "typescript"
    return "tsx" if path.endswith(".tsx") else "javascript"


def is_test_file(path: str) -> bool:
    return bool(_NAMED.search(path) or _IN_DIRECTORY.search(path)) and not path.endswith(".d.ts")


def module_of(path: str) -> str:
    """`src/points.js` as `src.points`: how designs name modules, whatever the ending."""
    stem = re.sub(r"\.[cm]?[jt]sx?$", "", path)
    return stem.removesuffix("/index").replace("/", ".")
