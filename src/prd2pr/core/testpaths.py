"""Where the project itself says that its tests are: `testpaths` of pytest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from prd2pr.core.evidence import Fact, PathKind
from prd2pr.core.paths import TDD_ROOT, PathRules, classify_path, matches_any
from prd2pr.core.pytest_settings import pytest_settings, words
from prd2pr.core.test_naming import USUAL, TestNaming
from prd2pr.core.testfacts_model import parse_tests

_ORDINARY = frozenset({"", ".", "src", "lib"})
_HOMES = frozenset({"src", "lib", "tests", "test"})  # what lies at these is known by them
_SUPPORT = frozenset({"__init__.py", "conftest.py"})


def configured_testpaths(files: Mapping[str, str]) -> tuple[str, ...]:
    """`files`: those of `CONFIGURED_IN` that there are, name -> text."""
    listed = words(pytest_settings(files).get("testpaths", ""))
    return tuple(each.rstrip("/").removeprefix("./") for each in listed)


def with_testpaths(
    rules: PathRules, testpaths: tuple[str, ...], paths: Iterable[str], naming: TestNaming = USUAL
) -> PathRules:
    """Everything below such a root belongs to the tests, unless code lies there that is none: more than the tests."""
    known = [path for path in paths if path.endswith(".py")]
    roots = [
        root
        for root in testpaths
        if root not in _ORDINARY and not matches_any(f"{root}/x", rules.source) and _holds_tests(root, known, naming)
    ]
    return replace(rules, tests=(*rules.tests, *roots)) if roots else rules


def with_named_files(rules: PathRules, naming: TestNaming, found: Mapping[str, str]) -> PathRules:
    """Files by the project's own names for tests are tests, also beside the code.

    `found`: the files before the step that are called so, path -> text. Where code is called so that holds no test,
    the name alone tells nothing.
    """
    telling = [pattern for pattern in naming.places if _names_tests(pattern, rules, naming, found)]
    return replace(rules, tests=(*rules.tests, *telling)) if telling else rules


def _names_tests(pattern: str, rules: PathRules, naming: TestNaming, found: Mapping[str, str]) -> bool:
    called = [path for path in found if matches_any(path, [pattern]) and path.rpartition("/")[2] not in _SUPPORT]
    beside = [path for path in called if classify_path(path, rules) is PathKind.SOURCE]
    modules = [parse_tests(path, found[path], naming) for path in beside]
    return all(module is None or module.tests for module in modules)


def outside_of(
    testpaths: tuple[str, ...], modules: Iterable[str], known: Iterable[str], naming: TestNaming = USUAL
) -> Iterator[Fact]:
    """New test files that plain `pytest` passes over. Where nothing lies at those places yet, they are no rule yet."""
    roots = [root for root in testpaths if any(naming.is_module(path) and matches_any(path, [root]) for path in known)]
    for path in modules if roots else ():
        if not matches_any(path, [*testpaths, TDD_ROOT]):
            said = f"lies outside of `testpaths` ({', '.join(roots)}), so `pytest` does not run it"
            yield Fact(code="RED202", path=path, message=said)


def _holds_tests(root: str, paths: list[str], naming: TestNaming) -> bool:
    """Tests and what they share, and no package: `packages` of many projects holds their sources as well."""
    names = [path for path in paths if matches_any(path, [root])]
    packages = {path.rpartition("/")[0] for path in names if path.endswith("/__init__.py")}
    tests = [path for path in names if naming.is_module(path)]
    others = [path for path in names if path not in tests and path.rpartition("/")[2] not in _SUPPORT]
    inner = {part for path in names for part in path.removeprefix(root).split("/")[:-1]}
    if inner & _HOMES or any(path.rpartition("/")[0] in packages for path in others):
        return False
    return bool(tests) and len(others) <= len(tests)
