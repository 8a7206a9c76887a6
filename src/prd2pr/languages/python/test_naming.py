"""The patterns by which a project's pytest finds test files, functions and classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from prd2pr.languages.python.pytest_settings import split_option

# pytest's own defaults
PYTHON_FILES = ("test_*.py", "*_test.py")
PYTHON_FUNCTIONS = ("test",)
PYTHON_CLASSES = ("Test",)

# Shared by tests but never test modules, even if `python_files` is `*.py`.
_SUPPORT_FILES = frozenset({"conftest.py", "__init__.py"})
_WILDCARD_CHARACTERS = "*?["


@dataclass(frozen=True)
class TestNaming:
    """Prefixes or patterns as pytest interprets them. Methods of `unittest.TestCase` always start with `test`."""

    __test__ = False
    files: tuple[str, ...] = PYTHON_FILES
    functions: tuple[str, ...] = PYTHON_FUNCTIONS
    classes: tuple[str, ...] = PYTHON_CLASSES

    def is_module(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        return name not in _SUPPORT_FILES and any(_matches_file(path, name, pattern) for pattern in self.files)

    def is_function(self, name: str) -> bool:
        return any(_matches_name(name, pattern) for pattern in self.functions)

    def is_class(self, name: str) -> bool:
        return any(_matches_name(name, pattern) for pattern in self.classes)

    @property
    def matches_any_file(self) -> bool:
        """Whether a pattern such as `*.py` matches any file, so that names do not tell tests from support files."""
        return any(not pattern.removesuffix(".py").strip("*/") for pattern in self.files)

    @property
    def path_patterns(self) -> tuple[str, ...]:
        """Patterns for the paths of test files in any directory, except those that would match all code."""
        own = [pattern for pattern in self.files if pattern not in PYTHON_FILES]
        return tuple(f"**/{pattern.removeprefix('**/')}" for pattern in own if pattern.removesuffix(".py").strip("*/"))


DEFAULT_NAMING = TestNaming()


def read_test_naming(settings: Mapping[str, Any]) -> TestNaming:
    """Read the naming rules from the project's pytest settings."""
    return TestNaming(
        split_option(settings.get("python_files", "")) or PYTHON_FILES,
        split_option(settings.get("python_functions", "")) or PYTHON_FUNCTIONS,
        split_option(settings.get("python_classes", "")) or PYTHON_CLASSES,
    )


def _matches_file(path: str, name: str, pattern: str) -> bool:
    return fnmatchcase(f"/{path}", f"*/{pattern}") if "/" in pattern else fnmatchcase(name, pattern)


def _matches_name(name: str, pattern: str) -> bool:
    return name.startswith(pattern) or (
        any(sign in pattern for sign in _WILDCARD_CHARACTERS) and fnmatchcase(name, pattern)
    )
