"""Facts about languages that gates and configuration need without loading a language package."""

from __future__ import annotations

# The file suffixes of each language.
ENDINGS: dict[str, tuple[str, ...]] = {
    "python": (".py",),
    "javascript": (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"),
    "typescript": (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"),
    "go": (".go",),
    "rust": (".rs",),
    "java": (".java",),
}

CODE_ENDINGS = tuple(dict.fromkeys(ending for endings in ENDINGS.values() for ending in endings))

# The path prefix of a story's tests, for languages without a directory per story.
STORY_TESTS = {
    "go": "<package>/tdd_{story}_",
    "rust": "tests/tdd_{story}_",
    "java": "src/test/java/<package>/tdd_{story}_",
}


def describe_unchecked(runner: str, lacking: tuple[str, ...]) -> str:
    return f"not checked here for {runner}: {', '.join(lacking)}"
