"""Detect a file's language by its name, and vendored files by their directory."""

from __future__ import annotations

from pathlib import PurePosixPath

PYTHON = "Python"

_ENDINGS = {
    ".py": PYTHON,
    ".pyi": PYTHON,
    ".js": "JavaScript",
    ".jsx": "JavaScript",
    ".mjs": "JavaScript",
    ".cjs": "JavaScript",
    ".ts": "TypeScript",
    ".tsx": "TypeScript",
    ".go": "Go",
    ".rs": "Rust",
    ".java": "Java",
    ".kt": "Kotlin",
    ".rb": "Ruby",
    ".php": "PHP",
    ".c": "C",
    ".h": "C",
    ".cc": "C++",
    ".cpp": "C++",
    ".hpp": "C++",
    ".cs": "C#",
    ".swift": "Swift",
    ".scala": "Scala",
    ".ex": "Elixir",
    ".exs": "Elixir",
    ".lua": "Lua",
    ".pl": "Perl",
    ".r": "R",
    ".sh": "Shell",
    ".bash": "Shell",
    ".sql": "SQL",
}


# Directories of vendored or generated code.
_FOREIGN = frozenset(
    {
        "node_modules",
        "vendor",
        "third_party",
        "site-packages",
        ".venv",
        "venv",
        "dist",
        "__pycache__",
        "bower_components",
    }
)


def is_vendored(path: str) -> bool:
    return not _FOREIGN.isdisjoint(path.split("/")[:-1]) or path.endswith((".min.js", ".bundle.js"))


def detect_file_language(path: str) -> str:
    """Return the language of a source file, or an empty string if it is unknown."""
    return _ENDINGS.get(PurePosixPath(path).suffix.lower(), "")
