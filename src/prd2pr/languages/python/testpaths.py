"""Finds where a project keeps its tests according to its pytest settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from prd2pr.domain.evidence import Fact, PathKind
from prd2pr.domain.paths import TDD_ROOT, PathRules, classify_path, matches_any
from prd2pr.languages.python.pytest_settings import read_pytest_settings, split_option
from prd2pr.languages.python.test_model.module import parse_tests
from prd2pr.languages.python.test_naming import DEFAULT_NAMING, TestNaming

_GENERIC_ROOTS = frozenset({"", ".", "src", "lib"})
_KNOWN_ROOTS = frozenset({"src", "lib", "tests", "test"})  # their content is classified by these names
_SUPPORT_FILES = frozenset({"__init__.py", "conftest.py"})


def read_testpaths(files: Mapping[str, str]) -> tuple[str, ...]:
    """Read `testpaths`. `files` maps the existing `PYTEST_CONFIG_FILES` to their contents."""
    listed = split_option(read_pytest_settings(files).get("testpaths", ""))
    return tuple(each.rstrip("/").removeprefix("./") for each in listed)


def add_testpaths(
    rules: PathRules, testpaths: tuple[str, ...], paths: Iterable[str], naming: TestNaming = DEFAULT_NAMING
) -> PathRules:
    """Classify all files below a configured test root as tests, unless most of them are other code."""
    known = [path for path in paths if path.endswith(".py")]
    roots = [
        root
        for root in testpaths
        if root not in _GENERIC_ROOTS
        and not matches_any(f"{root}/x", rules.source)
        and _contains_only_tests(root, known, naming)
    ]
    return replace(rules, tests=(*rules.tests, *roots)) if roots else rules


def add_test_patterns(rules: PathRules, naming: TestNaming, found: Mapping[str, str]) -> PathRules:
    """Classify files that match the project's own test patterns as tests, even next to the code.

    `found` maps the matching files before the step to their contents. A pattern that also matches code without tests is
    not used.
    """
    patterns = [pattern for pattern in naming.path_patterns if _matches_only_tests(pattern, rules, naming, found)]
    return replace(rules, tests=(*rules.tests, *patterns)) if patterns else rules


def _matches_only_tests(pattern: str, rules: PathRules, naming: TestNaming, found: Mapping[str, str]) -> bool:
    matching = [
        path for path in found if matches_any(path, [pattern]) and path.rpartition("/")[2] not in _SUPPORT_FILES
    ]
    in_source = [path for path in matching if classify_path(path, rules) is PathKind.SOURCE]
    modules = [parse_tests(path, found[path], naming) for path in in_source]
    return all(module is None or module.tests for module in modules)


def find_tests_outside_testpaths(
    testpaths: tuple[str, ...], modules: Iterable[str], known: Iterable[str], naming: TestNaming = DEFAULT_NAMING
) -> Iterator[Fact]:
    """Report new test files that plain `pytest` does not run. Test roots without any tests yet are ignored."""
    roots = [root for root in testpaths if any(naming.is_module(path) and matches_any(path, [root]) for path in known)]
    for path in modules if roots else ():
        if not matches_any(path, [*testpaths, TDD_ROOT]):
            message = f"is outside `testpaths` ({', '.join(roots)}), so `pytest` does not run it"
            yield Fact(code="RED202", path=path, message=message)


def _contains_only_tests(root: str, paths: list[str], naming: TestNaming) -> bool:
    """Return whether a root contains tests and support files but no package.

    In many projects, `packages` contains source code too.
    """
    names = [path for path in paths if matches_any(path, [root])]
    packages = {path.rpartition("/")[0] for path in names if path.endswith("/__init__.py")}
    tests = [path for path in names if naming.is_module(path)]
    others = [path for path in names if path not in tests and path.rpartition("/")[2] not in _SUPPORT_FILES]
    inner = {part for path in names for part in path.removeprefix(root).split("/")[:-1]}
    if inner & _KNOWN_ROOTS or any(path.rpartition("/")[0] in packages for path in others):
        return False
    return bool(tests) and len(others) <= len(tests)
