"""Which language a file is written in, by its name."""

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


# Code that others wrote, or machines, and that lies in the repository all the same.
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


def is_foreign(path: str) -> bool:
    return not _FOREIGN.isdisjoint(path.split("/")[:-1]) or path.endswith((".min.js", ".bundle.js"))


def language_of(path: str) -> str:
    """Empty for what is no source in a language known here."""
    return _ENDINGS.get(PurePosixPath(path).suffix.lower(), "")
