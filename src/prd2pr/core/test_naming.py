"""What is a test here: the names by which a project's own pytest knows its test files, functions and classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from prd2pr.core.pytest_settings import words

# pytest's own defaults
PYTHON_FILES = ("test_*.py", "*_test.py")
PYTHON_FUNCTIONS = ("test",)
PYTHON_CLASSES = ("Test",)

# Collected by nobody's wish, even where `python_files` is `*.py`: what tests share stands in them.
_SHARED = frozenset({"conftest.py", "__init__.py"})
_WILD = "*?["


@dataclass(frozen=True)
class TestNaming:
    """Prefixes or patterns, as pytest reads them. Methods of `unittest.TestCase` are called `test…` in any case."""

    __test__ = False
    files: tuple[str, ...] = PYTHON_FILES
    functions: tuple[str, ...] = PYTHON_FUNCTIONS
    classes: tuple[str, ...] = PYTHON_CLASSES

    def is_module(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        return name not in _SHARED and any(_is_file(path, name, pattern) for pattern in self.files)

    def is_function(self, name: str) -> bool:
        return any(_is_called(name, pattern) for pattern in self.functions)

    def is_class(self, name: str) -> bool:
        return any(_is_called(name, pattern) for pattern in self.classes)

    @property
    def takes_any_file(self) -> bool:
        """`*.py`: then names do not tell tests from what they share."""
        return any(not pattern.removesuffix(".py").strip("*/") for pattern in self.files)

    @property
    def places(self) -> tuple[str, ...]:
        """Patterns for paths of test files, wherever they lie; none of those that would take in all code."""
        own = [pattern for pattern in self.files if pattern not in PYTHON_FILES]
        return tuple(f"**/{pattern.removeprefix('**/')}" for pattern in own if pattern.removesuffix(".py").strip("*/"))


USUAL = TestNaming()


def naming_of(settings: Mapping[str, Any]) -> TestNaming:
    """`settings`: what the project tells pytest."""
    return TestNaming(
        words(settings.get("python_files", "")) or PYTHON_FILES,
        words(settings.get("python_functions", "")) or PYTHON_FUNCTIONS,
        words(settings.get("python_classes", "")) or PYTHON_CLASSES,
    )


def _is_file(path: str, name: str, pattern: str) -> bool:
    return fnmatchcase(f"/{path}", f"*/{pattern}") if "/" in pattern else fnmatchcase(name, pattern)


def _is_called(name: str, pattern: str) -> bool:
    return name.startswith(pattern) or (any(sign in pattern for sign in _WILD) and fnmatchcase(name, pattern))
