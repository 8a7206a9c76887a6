"""Stubs for names that new tests import and that do not exist yet. They return a value for every use.

This file is written into a checkout with copies of the test files, one copy for each variant. The name of a copy
selects the variant, so one pytest run tries all of them. Runs under the project's own Python and uses only the standard
library.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import zlib
from collections.abc import Callable, Generator
from typing import Any

RAISED: frozenset[str] = frozenset()  # names that the tests use as exceptions; overridden in the copy
_COPY = re.compile(r"__stub_(\d+)")


class Stub:
    """A value that can be called, awaited and entered and has every attribute.

    Each use returns a stub of the same variant.
    """

    def other(self, _: int) -> Any:
        return self

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.other(_hash_number(args, named)) if args or named else self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.other(_hash_number(name, {}))

    def __await__(self) -> Generator[None, None, Any]:
        yield from ()
        return self

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


def _hash_number(args: object, named: object) -> int:
    """Return a number that depends on the arguments and names, so that different calls get different results."""
    try:
        text = repr((args, named))
    except Exception:  # noqa: BLE001 tests may pass any object
        text = ""
    return zlib.crc32(text.encode("utf-8", "replace")) % 89 + 1


class StubNumber(Stub, int):
    def other(self, number: int) -> Any:
        return StubNumber(self + number if self > 0 else self - number) if self else self


class StubText(Stub, str):
    __slots__ = ()

    def other(self, number: int) -> Any:
        return StubText(f"{self}{number}") if self else self


class StubList(Stub, list):  # type: ignore[type-arg]  # Python 3.9
    def other(self, number: int) -> Any:
        return StubList([*self, type(self[0])(number)]) if self else self


class StubDict(Stub, dict):  # type: ignore[type-arg]
    def other(self, number: int) -> Any:
        return StubDict({**self, "other": number}) if self else self


VALUES: tuple[Any, ...] = (
    StubNumber(12345), StubNumber(-7), StubNumber(0),
    StubText("other words "), StubText("7"), StubText(""),
    StubList([3, 1, 2]), StubList(["b", "a"]), StubList([]),
    StubDict({"k": 1, "a": 2}), StubDict({"c": "d", "a": "b"}), StubDict({}),
)  # fmt: skip


def _make_stub_class(name: str, value: Any) -> type:
    """Make a class whose instances equal only themselves. Their attributes and operations return `value`."""

    class Kind(type):
        def __getattr__(cls, attribute: str) -> Any:
            if attribute.startswith("__"):
                raise AttributeError(attribute)
            return value

    def attribute_of(_: object, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return value

    def delegate(operation: str) -> Callable[..., Any]:
        return lambda _, *args: getattr(value, operation)(*args)

    def initialise(self: object, *_: object, **__: object) -> None:
        pass

    own = {"__init__": initialise, "__getattr__": attribute_of}
    for operation in ("__len__", "__iter__", "__contains__", "__getitem__", "__str__", "__add__", "__sub__", "__mul__"):
        if hasattr(type(value), operation):
            own[operation] = delegate(operation)
    return Kind(name, (), own)


_classes: dict[tuple[str, int], type] = {}
_errors: dict[str, type] = {}


# pytest itself looks these up in every package that contains tests.
_PYTEST_NAMES = ("__", "pytest", "setup", "teardown", "setUpModule", "tearDownModule", "collect_ignore", "load_tests")


def get_stub_value(name: str, module: str = "") -> Any:
    """Return the stub for a name that a module lacks. A name in a package may be a submodule."""
    if name.startswith(_PYTEST_NAMES):
        raise AttributeError(name)
    if hasattr(sys.modules.get(module), "__path__") and importlib.util.find_spec(f"{module}.{name}"):
        return importlib.import_module(f"{module}.{name}")
    if name in RAISED:
        return _errors.setdefault(name, type(name, (Exception,), {}))
    variant = _find_current_variant()
    if name[0].isupper() and not name.isupper():
        return _classes.setdefault((name, variant), _make_stub_class(name, VALUES[variant]))
    return VALUES[variant].other(_hash_number(name, {}))


def _find_current_variant() -> int:
    frame: Any = sys._getframe(1)
    while frame is not None:
        found = _COPY.search(frame.f_code.co_filename)
        if found:
            return int(found[1]) % len(VALUES)
        frame = frame.f_back
    return 0


class LateAttribute:
    """An attribute that an existing class lacks."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, thing: object, owner: object) -> Any:
        return get_stub_value(self._name)
