"""Values as recipes: plain data from which an equal value can be made again, by older or newer code alike.

Executed by the project's own Python: standard library alone. A recipe holds nothing of an object's inside: what the
project's own classes make is told by how it was made and what was done to it since.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import datetime
import decimal
import enum
import fractions
import importlib
import json
import pathlib
import sys
import types
from collections.abc import Callable
from typing import Any

DEEP, WIDE, LONG, BITS = 8, 400, 2000, 512

Recipe = Any  # a list: a letter, and what it is made of


class Unspeakable(Exception):
    """A value for which there is no recipe: an open file, a lambda, an object whose making nobody saw."""


class Writer:
    """`made`: what is known of how an object came about; `is_known`: whether a module can be imported by its name."""

    def __init__(self, made: Callable[[Any], Any], is_known: Callable[[str], bool]) -> None:
        self._made, self._is_known = made, is_known
        self._left = WIDE

    def write(self, value: Any) -> Recipe:
        self._left = WIDE
        return self._write(value, 0)

    def _write(self, value: Any, depth: int) -> Recipe:
        self._left -= 1
        if depth > DEEP or self._left < 0:
            raise Unspeakable
        kind = type(value)
        if kind in _PLAIN:
            return _plain(value)
        if kind in _MANY:
            items = [self._write(item, depth + 1) for item in value]
            return [_MANY[kind], sorted(items, key=json.dumps) if kind in (set, frozenset) else items]
        if kind in _MAPS:
            pairs = [[self._write(key, depth + 1), self._write(item, depth + 1)] for key, item in value.items()]
            return [_MAPS[kind], pairs]
        if kind in _TOLD:
            letter, told = _TOLD[kind]
            return [letter, told(value)]
        if isinstance(value, pathlib.PurePath):
            return ["path", str(value)]
        return self._object(value, depth)

    def _object(self, value: Any, depth: int) -> Recipe:
        made = self._made(value)
        if made is not None:
            return made
        if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
            return ["named", *self._name(value)]
        kind = type(value)
        if isinstance(value, enum.Enum):
            return ["member", *self._name(kind), value.name]
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            return ["fields", *self._name(kind), [self._write(item, depth + 1) for item in value]]
        if dataclasses.is_dataclass(value):
            given = [each.name for each in dataclasses.fields(value) if each.init]
            return ["data", *self._name(kind), {n: self._write(getattr(value, n), depth + 1) for n in given}]
        if _is_bare(kind) and not vars(value):
            return ["data", *self._name(kind), {}]
        raise Unspeakable

    def _name(self, thing: Any) -> tuple[str, str]:
        module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", "")
        if not isinstance(module, str) or "<" in name or not self._is_known(module):
            raise Unspeakable
        if looked_up(module, name) is not thing:
            raise Unspeakable
        return module, name


def _is_bare(kind: Any) -> bool:
    return kind.__init__ is object.__init__ and kind.__new__ is object.__new__


def _plain(value: Any) -> Recipe:
    if type(value) is int and value.bit_length() > BITS:
        raise Unspeakable
    if type(value) in (str, bytes) and len(value) > LONG:
        raise Unspeakable
    if type(value) is float:
        return ["float", repr(value)]
    if type(value) is bytes:
        return ["bytes", value.hex()]
    if type(value) is str:
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Unspeakable from None
    return ["plain", value]


_PLAIN = {type(None), bool, int, str, float, bytes}
_MANY: dict[Any, str] = {list: "list", tuple: "tuple", set: "set", frozenset: "frozenset", collections.deque: "deque"}
_MAPS: dict[Any, str] = {dict: "dict", collections.OrderedDict: "OrderedDict", collections.Counter: "Counter"}
_TOLD: dict[type, tuple[str, Callable[[Any], Any]]] = {
    decimal.Decimal: ("Decimal", str),
    fractions.Fraction: ("Fraction", str),
    datetime.date: ("date", lambda value: value.isoformat()),
    datetime.datetime: ("datetime", lambda value: _naive(value).isoformat()),
    datetime.time: ("time", lambda value: _naive(value).isoformat()),
    datetime.timedelta: ("timedelta", lambda value: [value.days, value.seconds, value.microseconds]),
    range: ("range", lambda value: [value.start, value.stop, value.step]),
}


def _naive(value: Any) -> Any:
    if value.tzinfo not in (None, datetime.UTC):
        raise Unspeakable
    return value


def looked_up(module: str, name: str) -> Any:
    found: Any = sys.modules.get(module) or importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


# --- making ----------------------------------------------------------------------------------------------------------


def make(recipe: Recipe) -> Any:
    letter, *rest = recipe
    return _MAKERS[letter](*rest)


def _make_all(items: list[Recipe]) -> list[Any]:
    return [make(item) for item in items]


def _make_pairs(pairs: list[list[Recipe]]) -> dict[Any, Any]:
    return {make(key): make(value) for key, value in pairs}


def _made(module: str, name: str, begin: dict[str, Any], since: list[dict[str, Any]]) -> Any:
    """An object: its class called, then what was done to it, in order. What failed then may fail now."""
    thing = looked_up(module, name)(*_make_all(begin["args"]), **{k: make(v) for k, v in begin["kwargs"].items()})
    for call in since:
        with contextlib.suppress(Exception):
            getattr(thing, call["name"])(*_make_all(call["args"]), **{k: make(v) for k, v in call["kwargs"].items()})
    return thing


_MAKERS: dict[str, Callable[..., Any]] = {
    "plain": lambda value: value,
    "float": float,
    "bytes": bytes.fromhex,
    "list": _make_all,
    "tuple": lambda items: tuple(_make_all(items)),
    "set": lambda items: set(_make_all(items)),
    "frozenset": lambda items: frozenset(_make_all(items)),
    "deque": lambda items: collections.deque(_make_all(items)),
    "dict": _make_pairs,
    "OrderedDict": lambda pairs: collections.OrderedDict(_make_pairs(pairs)),
    "Counter": lambda pairs: collections.Counter(_make_pairs(pairs)),
    "Decimal": decimal.Decimal,
    "Fraction": fractions.Fraction,
    "date": datetime.date.fromisoformat,
    "datetime": datetime.datetime.fromisoformat,
    "time": datetime.time.fromisoformat,
    "timedelta": lambda told: datetime.timedelta(*told),
    "range": lambda told: range(*told),
    "path": pathlib.Path,
    "named": looked_up,
    "member": lambda module, name, member: looked_up(module, name)[member],
    "fields": lambda module, name, items: looked_up(module, name)(*_make_all(items)),
    "data": lambda module, name, items: looked_up(module, name)(**{k: make(v) for k, v in items.items()}),
    "made": _made,
}


# --- telling what came of a call -------------------------------------------------------------------------------------

TAKEN = 200  # items of an iterator


def told(value: Any, depth: int = 0) -> Any:
    """What can be seen of a value from outside: plain data, comparable between two versions of the code."""
    kind = type(value)
    if depth > DEEP:
        return ["deep"]
    if kind in _PLAIN or kind in _TOLD:
        return ["value", kind.__name__, repr(value)[:LONG]]
    if isinstance(value, (enum.Enum, pathlib.PurePath)):
        return ["value", *((kind.__name__, value.name) if isinstance(value, enum.Enum) else ("Path", str(value)))]
    if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType, types.MethodType)):
        return ["named", getattr(value, "__name__", "")]
    return _told_of_many(value, depth) or ["object", kind.__name__, _public(value, depth)]


def _told_of_many(value: Any, depth: int) -> Any:
    kind = type(value)
    if isinstance(value, dict):
        return ["map", kind.__name__, [[told(k, depth + 1), told(v, depth + 1)] for k, v in _first(value.items())]]
    if isinstance(value, (set, frozenset)):
        return ["set", kind.__name__, sorted((told(item, depth + 1) for item in _first(value)), key=json.dumps)]
    if isinstance(value, (list, tuple, collections.deque, range)) and not hasattr(kind, "_fields"):
        return ["row", kind.__name__, [told(item, depth + 1) for item in _first(value)]]
    if hasattr(kind, "__next__"):
        return ["row", "iterator", [told(item, depth + 1) for item in _first(value)]]
    return None


def _first(items: Any) -> list[Any]:
    return [item for item, _ in zip(items, range(TAKEN))]  # noqa: B905 Python 3.9 knows no `strict`


def _public(value: Any, depth: int) -> dict[str, Any]:
    names = {*getattr(value, "__dict__", {}), *getattr(value, "_fields", ())}
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        names |= {slots} if isinstance(slots, str) else set(slots)
        names |= {name for name, item in vars(kind).items() if isinstance(item, property)}
    found = {}
    for name in sorted(name for name in names if not name.startswith("_")):
        with contextlib.suppress(Exception):  # a property of an object that is not ready for it
            found[name] = told(getattr(value, name), depth + 1)
    return found
