"""What gates and configuration say of stacks, without loading any language."""

from __future__ import annotations

# Language → endings of its files.
ENDINGS: dict[str, tuple[str, ...]] = {
    "python": (".py",),
    "javascript": (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"),
    "typescript": (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"),
    "go": (".go",),
    "rust": (".rs",),
    "java": (".java",),
}

CODE_ENDINGS = tuple(dict.fromkeys(ending for endings in ENDINGS.values() for ending in endings))

# Language → how a story's tests begin, where they do not lie in a directory of the story's name.
STORY_TESTS = {
    "go": "<package>/tdd_{story}_",
    "rust": "tests/tdd_{story}_",
    "java": "src/test/java/<package>/tdd_{story}_",
}


def not_checked_words(runner: str, lacking: tuple[str, ...]) -> str:
    return f"not checked here for {runner}: {', '.join(lacking)}"
