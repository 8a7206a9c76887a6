"""Names of JavaScript and TypeScript files."""

from __future__ import annotations

import re

ENDINGS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts")
# The combined patterns of node, vitest and jest. The directory alone would match helpers too.
_NAMED = re.compile(r"(^|/)(test|test-[^/]*|[^/]*[._-](test|spec))\.[cm]?[jt]sx?$")
_IN_DIRECTORY = re.compile(
    r"(^|/)__tests__/(?!.*(helpers?|fixtures?|utils|setup|__mocks__|__snapshots__)).*\.[cm]?[jt]sx?$"
)


def select_grammar(path: str) -> str:
    if path.endswith((".ts", ".mts", ".cts")):
        return "typescript"
    return "tsx" if path.endswith(".tsx") else "javascript"


def is_test_file(path: str) -> bool:
    return bool(_NAMED.search(path) or _IN_DIRECTORY.search(path)) and not path.endswith(".d.ts")


def name_module(path: str) -> str:
    """Return the name of a module in designs, such as `src.points` for `src/points.js`."""
    stem = re.sub(r"\.[cm]?[jt]sx?$", "", path)
    return stem.removesuffix("/index").replace("/", ".")
