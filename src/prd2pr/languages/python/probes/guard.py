"""Checks, inside the test process, that nothing replaces the tests or the code that runs them.

The launcher loads this file by path before the checkout can be imported, and never lists it in `sys.modules`. Runs
under the project's own Python, like the launcher, and uses only the standard library and pytest.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import _pytest
import pluggy

# Checked before every test. The rest of pytest is checked after collection and at the end of the run.
CRITICAL_MODULES = (
    "_pytest.python",
    "_pytest.runner",
    "_pytest.unittest",
    "_pytest.reports",
    "pluggy",
    "unittest.case",
)
RUNNER_PACKAGES = ("_pytest", "pluggy", "unittest")
MAX_WRAPPERS = 5

KnownFunction = tuple[Any, str, Any, Any, Any]  # owner's namespace, name, value, underlying function, its code


class Guard:
    """Detects replaced tests, test helpers and parts of pytest.

    `locked` lists the paths of the test files; `imported_as` maps a module name to the files that it may be imported
    from.
    """

    def __init__(self, checkout: str, locked: Iterable[str], imported_as: dict[str, list[str]]) -> None:
        self._root = checkout + os.sep
        self._locked = {self._root + path for path in locked}
        self._imported_as = {name: {self._root + path for path in paths} for name, paths in imported_as.items()}
        places = {sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), *site.getsitepackages()}
        homes = {str(Path(str(module.__file__)).parents[1]) for module in (_pytest, pluggy)}
        self._trusted = tuple(sorted(place + os.sep for place in {*places, *homes} if place))
        self._critical: list[KnownFunction] = []
        self._other: list[KnownFunction] = []
        self._tests: dict[str, list[tuple[Any, Any]]] = {}
        self._helpers: dict[str, list[KnownFunction]] = {}
        self._homes: dict[str, str] = {}

    def remember_runner(self) -> None:
        """Record the state of pytest after its plugins are loaded and before any file of the checkout is loaded."""
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] in RUNNER_PACKAGES:
                (self._critical if name.startswith(CRITICAL_MODULES) else self._other).extend(
                    _list_module_functions(name, module)
                )

    def remember_test(self, item: Any) -> None:
        """Record a test's code when it is collected, right after its module is imported."""
        owner = getattr(item, "cls", None) or getattr(item, "module", None)
        function = getattr(owner, getattr(item, "originalname", None) or "", None)
        self._tests[item.nodeid] = [(each, each.__code__) for each in _unwrap_layers(function)]
        module = getattr(item, "module", None)
        if module is not None and module.__name__ not in self._helpers:
            self._helpers[module.__name__] = list(self._helper_functions(vars(module)))
        self._homes[item.nodeid] = getattr(module, "__name__", "")

    def _helper_functions(self, namespace: dict[str, Any]) -> Iterator[KnownFunction]:
        """Yield functions from test files that a test module refers to by name."""
        for name, value in list(namespace.items()):
            code = _get_code(value) if isinstance(value, types.FunctionType) else None
            if code is not None and code.co_filename in self._locked:
                yield namespace, name, value, value, code

    def find_tampering(self, test: str = "") -> Iterator[str]:
        """Describe each replacement found. If no test is given, check all tests and the runner."""
        for namespace, name, value, function, code in self._critical if test else self._critical + self._other:
            now = namespace.get(name)
            if now is not value and self._is_untrusted(now):
                yield f"the test runner's own `{name}` was replaced"
            elif function.__code__ is not code:
                yield f"the code of the test runner's own `{name}` was replaced"
        for node in [test] if test else list(self._tests):
            if any(function.__code__ is not code for function, code in self._tests.get(node, ())):
                yield f"the code of {node} was replaced while the tests ran"
        for module in [self._homes.get(test, "")] if test else list(self._helpers):
            yield from self._replaced_helpers(self._helpers.get(module, []))
        if not test:
            yield from self._find_impostors()

    def _replaced_helpers(self, helpers: Iterable[KnownFunction]) -> Iterator[str]:
        """Yield helpers that the code under test replaced. A test may replace its own helper with a stub."""
        for namespace, name, _, function, code in helpers:
            now = _get_code(namespace.get(name))
            foreign = now is not None and now.co_filename.startswith(self._root) and now.co_filename not in self._locked
            if foreign or function.__code__ is not code:
                yield f"`{name}`, which {namespace.get('__name__')} calls, was replaced by the code under test"

    def _is_untrusted(self, value: Any) -> bool:
        """Return whether a replacement may come from the code under test.

        Replacements by plugins and the locked conftest are trusted.
        """
        code = _get_code(value)
        return code is None or not (code.co_filename in self._locked or code.co_filename.startswith(self._trusted))

    def _find_impostors(self) -> Iterator[str]:
        for name, expected in self._imported_as.items():
            module = sys.modules.get(name)
            if module is None:
                continue
            path = str(getattr(module, "__file__", None) or "")
            if path not in expected and not path.startswith(self._trusted):
                yield f"tests that import `{name}` got something other than {self._render_paths(expected)}"

    def _render_paths(self, paths: Iterable[str]) -> str:
        return " or ".join(sorted(path[len(self._root) :].replace(os.sep, "/") for path in paths))


def _list_module_functions(name: str, module: types.ModuleType) -> Iterator[KnownFunction]:
    """Yield the functions that a module defines, including those of its classes."""
    for attribute, value in list(vars(module).items()):
        if getattr(value, "__module__", None) != name:
            continue
        if isinstance(value, types.FunctionType):
            yield vars(module), attribute, value, value, value.__code__
        elif isinstance(value, type):
            for key, method in list(vars(value).items()):
                function = _unwrap_method(method)
                if isinstance(function, types.FunctionType):
                    yield vars(value), key, method, function, function.__code__


def _unwrap_method(value: Any) -> Any:
    """Return the function behind a property, class method or static method."""
    return value.fget if isinstance(value, property) else getattr(value, "__func__", value)


def _get_code(value: Any) -> Any:
    return getattr(_unwrap_method(value), "__code__", None)


def _unwrap_layers(function: Any) -> Iterator[Any]:
    for _ in range(MAX_WRAPPERS):
        function = getattr(function, "__func__", function)
        if isinstance(function, types.FunctionType):
            yield function
        function = getattr(function, "__wrapped__", None)
