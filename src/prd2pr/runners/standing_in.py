"""Stands in for what new tests import and nobody has written yet: it answers whatever it is asked, in many ways.

Put into a checkout beside copies of the test files, one copy for each way, and executed by the project's own Python:
standard library alone. A copy's name says which answers it gets, so one run of pytest asks a test about all of them.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import zlib
from collections.abc import Callable, Generator
from typing import Any

RAISED: frozenset[str] = frozenset()  # names that the tests use as exceptions; written into the copy of this file
_COPY = re.compile(r"__stand_in_(\d+)")


class Obliging:
    """Can be called, awaited, entered, and has every attribute: each gives an answer of the same kind."""

    def other(self, _: int) -> Any:
        return self

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.other(_number(args, named)) if args or named else self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.other(_number(name, {}))

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


def _number(args: object, named: object) -> int:
    """Another one for other arguments and other names: what holds for two of them is worth a test."""
    try:
        said = repr((args, named))
    except Exception:  # noqa: BLE001 - whatever a test hands over
        said = ""
    return zlib.crc32(said.encode("utf-8", "replace")) % 89 + 1


class Number(Obliging, int):
    def other(self, number: int) -> Any:
        return Number(self + number if self > 0 else self - number) if self else self


class Words(Obliging, str):
    __slots__ = ()

    def other(self, number: int) -> Any:
        return Words(f"{self}{number}") if self else self


class Row(Obliging, list):  # type: ignore[type-arg]  # Python 3.9
    def other(self, number: int) -> Any:
        return Row([*self, type(self[0])(number)]) if self else self


class Table(Obliging, dict):  # type: ignore[type-arg]
    def other(self, number: int) -> Any:
        return Table({**self, "other": number}) if self else self


VALUES: tuple[Any, ...] = (
    Number(12345), Number(-7), Number(0),
    Words("other words "), Words("7"), Words(""),
    Row([3, 1, 2]), Row(["b", "a"]), Row([]),
    Table({"k": 1, "a": 2}), Table({"c": "d", "a": "b"}), Table({}),
)  # fmt: skip


def _class_of(name: str, value: Any) -> type:
    """Its objects are equal to themselves alone; what they have and do gives the value."""

    class Kind(type):
        def __getattr__(cls, attribute: str) -> Any:
            if attribute.startswith("__"):
                raise AttributeError(attribute)
            return value

    def attribute_of(_: object, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return value

    def passed_on(operation: str) -> Callable[..., Any]:
        return lambda _, *args: getattr(value, operation)(*args)

    def made(self: object, *_: object, **__: object) -> None:
        """Takes whatever it is given."""

    own = {"__init__": made, "__getattr__": attribute_of}
    for operation in ("__len__", "__iter__", "__contains__", "__getitem__", "__str__", "__add__", "__sub__", "__mul__"):
        if hasattr(type(value), operation):
            own[operation] = passed_on(operation)
    return Kind(name, (), own)


_classes: dict[tuple[str, int], type] = {}
_errors: dict[str, type] = {}


# Not asked for by tests, but by pytest itself, of every package that tests lie in.
_PYTESTS = ("__", "pytest", "setup", "teardown", "setUpModule", "tearDownModule", "collect_ignore", "load_tests")


def answer(name: str, module: str = "") -> Any:
    """For a name that a module does not have. What a package is asked for may be a module in it."""
    if name.startswith(_PYTESTS):
        raise AttributeError(name)
    if hasattr(sys.modules.get(module), "__path__") and importlib.util.find_spec(f"{module}.{name}"):
        return importlib.import_module(f"{module}.{name}")
    if name in RAISED:
        return _errors.setdefault(name, type(name, (Exception,), {}))
    way = _way()
    if name[0].isupper() and not name.isupper():
        return _classes.setdefault((name, way), _class_of(name, VALUES[way]))
    return VALUES[way].other(_number(name, {}))


def _way() -> int:
    frame: Any = sys._getframe(1)
    while frame is not None:
        found = _COPY.search(frame.f_code.co_filename)
        if found:
            return int(found[1]) % len(VALUES)
        frame = frame.f_back
    return 0


class Late:
    """An attribute of a class that has none of this name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, thing: object, owner: object) -> Any:
        return answer(self._name)
