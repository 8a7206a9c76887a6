"""Watches, inside the test process, that nothing replaces the tests or the machinery that runs them.

Loaded by the launcher from its file, before the checkout can be imported, and never listed in `sys.modules`. Like the
launcher it is executed by the project's own Python: standard library and pytest alone.
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

# What decides on every single test; the rest of pytest is looked at when collection ends and when the run ends.
CLOSE = ("_pytest.python", "_pytest.runner", "_pytest.unittest", "_pytest.reports", "pluggy", "unittest.case")
RUNNERS = ("_pytest", "pluggy", "unittest")
MOST_WRAPPERS = 5

Kept = tuple[Any, str, Any, Any, Any]  # owner's namespace, name, value, the function in it, its code


class Guard:
    """`locked`: paths of the test files. `imported_as`: module name -> the files that may be meant by it."""

    def __init__(self, checkout: str, locked: Iterable[str], imported_as: dict[str, list[str]]) -> None:
        self._root = checkout + os.sep
        self._locked = {self._root + path for path in locked}
        self._imported_as = {name: {self._root + path for path in paths} for name, paths in imported_as.items()}
        places = {sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), *site.getsitepackages()}
        homes = {str(Path(str(module.__file__)).parents[1]) for module in (_pytest, pluggy)}
        self._trusted = tuple(sorted(place + os.sep for place in {*places, *homes} if place))
        self._close: list[Kept] = []
        self._other: list[Kept] = []
        self._tests: dict[str, list[tuple[Any, Any]]] = {}
        self._helpers: dict[str, list[Kept]] = {}
        self._homes: dict[str, str] = {}

    def keep_runner(self) -> None:
        """Remember pytest as it is now: its plugins are loaded, nothing of the checkout is."""
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] in RUNNERS:
                (self._close if name.startswith(CLOSE) else self._other).extend(_functions(name, module))

    def keep_test(self, item: Any) -> None:
        """Remember what a test does, as soon as it is collected: its module is the last thing that was imported."""
        owner = getattr(item, "cls", None) or getattr(item, "module", None)
        function = getattr(owner, getattr(item, "originalname", None) or "", None)
        self._tests[item.nodeid] = [(each, each.__code__) for each in _unwrapped(function)]
        module = getattr(item, "module", None)
        if module is not None and module.__name__ not in self._helpers:
            self._helpers[module.__name__] = list(self._leaned_on(vars(module)))
        self._homes[item.nodeid] = getattr(module, "__name__", "")

    def _leaned_on(self, namespace: dict[str, Any]) -> Iterator[Kept]:
        """Functions of test files that a test module calls by a name of its own."""
        for name, value in list(namespace.items()):
            code = _code(value) if isinstance(value, types.FunctionType) else None
            if code is not None and code.co_filename in self._locked:
                yield namespace, name, value, value, code

    def tampering(self, test: str = "") -> Iterator[str]:
        """What is no longer what it was; without a test: everything is looked at."""
        for namespace, name, value, function, code in self._close if test else self._close + self._other:
            now = namespace.get(name)
            if now is not value and self._is_strange(now):
                yield f"the test runner's own `{name}` was replaced"
            elif function.__code__ is not code:
                yield f"the code of the test runner's own `{name}` was replaced"
        for node in [test] if test else list(self._tests):
            if any(function.__code__ is not code for function, code in self._tests.get(node, ())):
                yield f"the code of {node} was replaced while the tests ran"
        for module in [self._homes.get(test, "")] if test else list(self._helpers):
            yield from self._swapped(self._helpers.get(module, []))
        if not test:
            yield from self._impostors()

    def _swapped(self, helpers: Iterable[Kept]) -> Iterator[str]:
        """A test may put a stand-in where its helper was; the code under test may not."""
        for namespace, name, _, function, code in helpers:
            now = _code(namespace.get(name))
            foreign = now is not None and now.co_filename.startswith(self._root) and now.co_filename not in self._locked
            if foreign or function.__code__ is not code:
                yield f"`{name}`, which {namespace.get('__name__')} calls, was replaced by the code under test"

    def _is_strange(self, value: Any) -> bool:
        """Plugins replace parts of pytest, and so may a conftest, which is locked; the code under test may not."""
        code = _code(value)
        return code is None or not (code.co_filename in self._locked or code.co_filename.startswith(self._trusted))

    def _impostors(self) -> Iterator[str]:
        for name, meant in self._imported_as.items():
            module = sys.modules.get(name)
            if module is None:
                continue
            path = str(getattr(module, "__file__", None) or "")
            if path not in meant and not path.startswith(self._trusted):
                yield f"tests that import `{name}` were given something else than {self._shown(meant)}"

    def _shown(self, paths: Iterable[str]) -> str:
        return " or ".join(sorted(path[len(self._root) :].replace(os.sep, "/") for path in paths))


def _functions(name: str, module: types.ModuleType) -> Iterator[Kept]:
    """Functions that a module defines, and those of its classes."""
    for attribute, value in list(vars(module).items()):
        if getattr(value, "__module__", None) != name:
            continue
        if isinstance(value, types.FunctionType):
            yield vars(module), attribute, value, value, value.__code__
        elif isinstance(value, type):
            for key, method in list(vars(value).items()):
                function = _function(method)
                if isinstance(function, types.FunctionType):
                    yield vars(value), key, method, function, function.__code__


def _function(value: Any) -> Any:
    """A function, out of what a class makes of one."""
    return value.fget if isinstance(value, property) else getattr(value, "__func__", value)


def _code(value: Any) -> Any:
    return getattr(_function(value), "__code__", None)


def _unwrapped(function: Any) -> Iterator[Any]:
    for _ in range(MOST_WRAPPERS):
        function = getattr(function, "__func__", function)
        if isinstance(function, types.FunctionType):
            yield function
        function = getattr(function, "__wrapped__", None)
