"""Describes values as recipes: plain data from which both old and new code can build an equal value.

Runs under the project's own Python and uses only the standard library. A recipe does not contain an object's internal
state. Instances of the project's classes are described by how they were created and the calls made on them since.
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

MAX_DEPTH, MAX_ITEMS, MAX_LENGTH, MAX_BITS = 8, 400, 2000, 512

Recipe = Any  # a list of the type and its content


class Unrecordable(Exception):
    """Raised for a value without a recipe: an open file, a lambda, or an object whose creation was not observed."""


class RecipeWriter:
    """Writes recipes for values.

    `made` returns the creation recipe of an object; `is_known` tells whether a module can be imported by name.
    """

    def __init__(self, made: Callable[[Any], Any], is_known: Callable[[str], bool]) -> None:
        self._creation_recipe, self._is_known = made, is_known
        self._budget = MAX_ITEMS

    def write(self, value: Any) -> Recipe:
        self._budget = MAX_ITEMS
        return self._write(value, 0)

    def _write(self, value: Any, depth: int) -> Recipe:
        self._budget -= 1
        if depth > MAX_DEPTH or self._budget < 0:
            raise Unrecordable
        kind = type(value)
        if kind in _PLAIN_TYPES:
            return _write_plain(value)
        if kind in _SEQUENCE_TYPES:
            items = [self._write(item, depth + 1) for item in value]
            return [_SEQUENCE_TYPES[kind], sorted(items, key=json.dumps) if kind in (set, frozenset) else items]
        if kind in _MAPPING_TYPES:
            pairs = [[self._write(key, depth + 1), self._write(item, depth + 1)] for key, item in value.items()]
            return [_MAPPING_TYPES[kind], pairs]
        if kind in _SIMPLE_TYPES:
            letter, convert = _SIMPLE_TYPES[kind]
            return [letter, convert(value)]
        if isinstance(value, pathlib.PurePath):
            return ["path", str(value)]
        return self._object(value, depth)

    def _object(self, value: Any, depth: int) -> Recipe:
        made = self._creation_recipe(value)
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
        if _is_stateless(kind) and not vars(value):
            return ["data", *self._name(kind), {}]
        raise Unrecordable

    def _name(self, thing: Any) -> tuple[str, str]:
        module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", "")
        if not isinstance(module, str) or "<" in name or not self._is_known(module):
            raise Unrecordable
        if look_up_name(module, name) is not thing:
            raise Unrecordable
        return module, name


def _is_stateless(kind: Any) -> bool:
    return kind.__init__ is object.__init__ and kind.__new__ is object.__new__


def _write_plain(value: Any) -> Recipe:
    if type(value) is int and value.bit_length() > MAX_BITS:
        raise Unrecordable
    if type(value) in (str, bytes) and len(value) > MAX_LENGTH:
        raise Unrecordable
    if type(value) is float:
        return ["float", repr(value)]
    if type(value) is bytes:
        return ["bytes", value.hex()]
    if type(value) is str:
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Unrecordable from None
    return ["plain", value]


_PLAIN_TYPES = {type(None), bool, int, str, float, bytes}
_SEQUENCE_TYPES: dict[Any, str] = {
    list: "list",
    tuple: "tuple",
    set: "set",
    frozenset: "frozenset",
    collections.deque: "deque",
}
_MAPPING_TYPES: dict[Any, str] = {dict: "dict", collections.OrderedDict: "OrderedDict", collections.Counter: "Counter"}
_SIMPLE_TYPES: dict[type, tuple[str, Callable[[Any], Any]]] = {
    decimal.Decimal: ("Decimal", str),
    fractions.Fraction: ("Fraction", str),
    datetime.date: ("date", lambda value: value.isoformat()),
    datetime.datetime: ("datetime", lambda value: _require_naive(value).isoformat()),
    datetime.time: ("time", lambda value: _require_naive(value).isoformat()),
    datetime.timedelta: ("timedelta", lambda value: [value.days, value.seconds, value.microseconds]),
    range: ("range", lambda value: [value.start, value.stop, value.step]),
}


def _require_naive(value: Any) -> Any:
    if value.tzinfo not in (None, datetime.UTC):
        raise Unrecordable
    return value


def look_up_name(module: str, name: str) -> Any:
    found: Any = sys.modules.get(module) or importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


# --- building values -------------------------------------------------------------------------------------------------


def build_value(recipe: Recipe) -> Any:
    """Build the value that a recipe describes."""
    letter, *rest = recipe
    return _BUILDERS[letter](*rest)


def _build_all(items: list[Recipe]) -> list[Any]:
    return [build_value(item) for item in items]


def _build_pairs(pairs: list[list[Recipe]]) -> dict[Any, Any]:
    return {build_value(key): build_value(value) for key, value in pairs}


def _build_object(module: str, name: str, creation: dict[str, Any], calls: list[dict[str, Any]]) -> Any:
    """Create the object, then repeat the calls made on it.

    A call that raised an exception originally may raise it again.
    """
    instance = look_up_name(module, name)(
        *_build_all(creation["args"]), **{k: build_value(v) for k, v in creation["kwargs"].items()}
    )
    for call in calls:
        with contextlib.suppress(Exception):
            getattr(instance, call["name"])(
                *_build_all(call["args"]), **{k: build_value(v) for k, v in call["kwargs"].items()}
            )
    return instance


_BUILDERS: dict[str, Callable[..., Any]] = {
    "plain": lambda value: value,
    "float": float,
    "bytes": bytes.fromhex,
    "list": _build_all,
    "tuple": lambda items: tuple(_build_all(items)),
    "set": lambda items: set(_build_all(items)),
    "frozenset": lambda items: frozenset(_build_all(items)),
    "deque": lambda items: collections.deque(_build_all(items)),
    "dict": _build_pairs,
    "OrderedDict": lambda pairs: collections.OrderedDict(_build_pairs(pairs)),
    "Counter": lambda pairs: collections.Counter(_build_pairs(pairs)),
    "Decimal": decimal.Decimal,
    "Fraction": fractions.Fraction,
    "date": datetime.date.fromisoformat,
    "datetime": datetime.datetime.fromisoformat,
    "time": datetime.time.fromisoformat,
    "timedelta": lambda parts: datetime.timedelta(*parts),
    "range": lambda parts: range(*parts),
    "path": pathlib.Path,
    "named": look_up_name,
    "member": lambda module, name, member: look_up_name(module, name)[member],
    "fields": lambda module, name, items: look_up_name(module, name)(*_build_all(items)),
    "data": lambda module, name, items: look_up_name(module, name)(**{k: build_value(v) for k, v in items.items()}),
    "made": _build_object,
}


# --- observing results -----------------------------------------------------------------------------------------------

MAX_ITERATED = 200  # items taken from an iterator


def observe_value(value: Any, depth: int = 0) -> Any:
    """Convert a value to plain data that can be compared between two versions of the code."""
    kind = type(value)
    if depth > MAX_DEPTH:
        return ["deep"]
    if kind in _PLAIN_TYPES or kind in _SIMPLE_TYPES:
        return ["value", kind.__name__, repr(value)[:MAX_LENGTH]]
    if isinstance(value, (enum.Enum, pathlib.PurePath)):
        return ["value", *((kind.__name__, value.name) if isinstance(value, enum.Enum) else ("Path", str(value)))]
    if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType, types.MethodType)):
        return ["named", getattr(value, "__name__", "")]
    return _observe_collection(value, depth) or ["object", kind.__name__, _observe_attributes(value, depth)]


def _observe_collection(value: Any, depth: int) -> Any:
    kind = type(value)
    if isinstance(value, dict):
        return [
            "map",
            kind.__name__,
            [[observe_value(k, depth + 1), observe_value(v, depth + 1)] for k, v in _take_first_items(value.items())],
        ]
    if isinstance(value, (set, frozenset)):
        return [
            "set",
            kind.__name__,
            sorted((observe_value(item, depth + 1) for item in _take_first_items(value)), key=json.dumps),
        ]
    if isinstance(value, (list, tuple, collections.deque, range)) and not hasattr(kind, "_fields"):
        return ["row", kind.__name__, [observe_value(item, depth + 1) for item in _take_first_items(value)]]
    if hasattr(kind, "__next__"):
        return ["row", "iterator", [observe_value(item, depth + 1) for item in _take_first_items(value)]]
    return None


def _take_first_items(items: Any) -> list[Any]:
    return [item for item, _ in zip(items, range(MAX_ITERATED))]  # noqa: B905 `strict` requires Python 3.10


def _observe_attributes(value: Any, depth: int) -> dict[str, Any]:
    names = {*getattr(value, "__dict__", {}), *getattr(value, "_fields", ())}
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        names |= {slots} if isinstance(slots, str) else set(slots)
        names |= {name for name, item in vars(kind).items() if isinstance(item, property)}
    found = {}
    for name in sorted(name for name in names if not name.startswith("_")):
        with contextlib.suppress(Exception):  # a property may raise
            found[name] = observe_value(getattr(value, name), depth + 1)
    return found
