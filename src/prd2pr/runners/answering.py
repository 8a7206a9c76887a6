"""Lets functions of a story answer otherwise, to see which tests look at the answer at all.

Executed by the project's own Python, like the launcher: standard library alone. Always inside a fork.

Functions keep their identity; their code is exchanged for one that calls the old code and changes what comes of it,
where the caller is outside of the files that the story changed. So the story's own code works with right values, and
whoever uses it is told something else.
"""

from __future__ import annotations

import builtins
import copy
import datetime
import decimal
import enum
import fractions
import inspect
import itertools
import pathlib
import secrets
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

MORE, LESS, NOTHING = "more", "less", "nothing"  # ways to answer otherwise; nothing: the body is not run
DEEP = 3
_PLAIN = """
def exchanged():
    {bound} = None
    def wrapped(*args, **named):
        {mention}
        return {name}(args, named)
    return wrapped
"""
_AWAITED = _PLAIN.replace("    def wrapped", "    async def wrapped").replace("return {name}", "return await {name}")


class OtherError(Exception):
    """In place of the error that a function raises."""


class Answering:
    def __init__(self, functions: Iterable[types.FunctionType], files: set[str]) -> None:
        self._functions = [each for each in functions if _is_simple(each)]
        self._files = files
        self.way = MORE
        self.changed = 0

    def install(self) -> None:
        for function in self._functions:
            original = types.FunctionType(
                function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
            )
            original.__kwdefaults__ = function.__kwdefaults__
            awaited = inspect.iscoroutinefunction(function)
            name = f"_{secrets.token_hex(8)}"
            setattr(builtins, name, self._awaiting(original) if awaited else self._calling(original))
            self._exchange(function, name, awaited=awaited)

    def _exchange(self, function: types.FunctionType, name: str, *, awaited: bool) -> None:
        free = function.__code__.co_freevars
        text = (_AWAITED if awaited else _PLAIN).format(
            bound=" = ".join(free) or "_", mention=f"if 0: {', '.join(free)}" if free else "pass", name=name
        )
        made: dict[str, Any] = {}
        exec(text, made)  # noqa: S102 - names of variables and a number
        try:
            function.__code__ = made["exchanged"]().__code__.replace(co_name=function.__code__.co_name)
        except ValueError:
            return  # another number of free variables
        function.__defaults__ = function.__kwdefaults__ = None  # the old code has them

    def _calling(self, original: types.FunctionType) -> Callable[..., Any]:
        def answer(args: tuple[Any, ...], named: dict[str, Any]) -> Any:
            if not self._from_outside():
                return original(*args, **named)
            if self.way is NOTHING and original.__name__ != "__init__":
                self.changed += 1
                return None
            try:
                value = original(*args, **named)
            except Exception as error:  # noqa: BLE001 - whatever the story's code raises
                return self._instead_of(error)
            return self._otherwise(original, value, args)

        return answer

    def _awaiting(self, original: types.FunctionType) -> Callable[..., Any]:
        async def answer(args: tuple[Any, ...], named: dict[str, Any]) -> Any:
            if self.way is NOTHING:
                self.changed += 1
                return None
            try:
                value = await original(*args, **named)
            except Exception as error:  # noqa: BLE001 - whatever the story's code raises
                return self._instead_of(error)
            return self._otherwise(original, value, args)

        return answer

    def _from_outside(self) -> bool:
        caller = sys._getframe(3).f_code.co_filename
        return caller not in self._files and not caller.endswith("contextlib.py")

    def _instead_of(self, error: Exception) -> None:
        self.changed += 1
        if self.way is MORE:
            return
        raise OtherError(type(error).__name__) from error

    def _otherwise(self, original: types.FunctionType, value: Any, args: tuple[Any, ...]) -> Any:
        if value is None:
            if args and original.__code__.co_varnames[:1] == ("self",) and _change_within(args[0], self.way, DEEP):
                self.changed += 1
            return None
        changed, other = another(value, self.way)
        self.changed += changed
        return other


def _is_simple(function: types.FunctionType) -> bool:
    """Generators and their like answer bit by bit, and what pytest knows by its parameters would lose them."""
    generating = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR
    return not function.__code__.co_flags & generating and not hasattr(function, "pytestmark")


# --- another value of the same kind -----------------------------------------------------------------------------------


def another(value: Any, way: str, deep: int = DEEP) -> tuple[bool, Any]:  # noqa: PLR0911 - one for each kind
    """Whether there is one that can be made up, and which."""
    kind: Any = type(value)
    make = _ANOTHER.get(kind)
    if make:
        return True, make(value, way)
    if isinstance(value, enum.Enum):
        members = list(kind)
        return len(members) > 1, members[(members.index(value) + 1) % len(members)]
    if isinstance(value, pathlib.PurePath):
        return True, kind(f"{value}~")
    if isinstance(value, tuple) and hasattr(value, "_replace"):
        return _named_tuple(value, way, deep)
    if isinstance(value, types.GeneratorType) or kind in _ITERATORS:
        return True, iter(()) if way is LESS else itertools.chain(value, (0,))
    if isinstance(value, (type, types.FunctionType, types.ModuleType)) or callable(value) or deep == 0:
        return False, value
    return _object(value, way, deep)


def _named_tuple(value: Any, way: str, deep: int) -> tuple[bool, Any]:
    pairs = {name: another(getattr(value, name), way, deep - 1) for name in value._fields}
    found = {name: other for name, (changed, other) in pairs.items() if changed}
    return bool(found), value._replace(**found)


def _object(value: Any, way: str, deep: int) -> tuple[bool, Any]:
    try:
        other = copy.copy(value)
    except Exception:  # noqa: BLE001 - whatever a class has to say about it
        return False, value
    if other is value or not _change_within(other, way, deep):
        return False, value
    return True, other


def _change_within(thing: Any, way: str, deep: int) -> bool:
    """In place: all attributes that have a value which can be made another one."""
    names = list(vars(thing)) if hasattr(thing, "__dict__") else []
    names += [name for kind in type(thing).__mro__ for name in _slots(kind) if hasattr(thing, name)]
    changed = False
    for name in names:
        able, other = another(getattr(thing, name, None), way, deep - 1) if deep else (False, None)
        if able:
            try:
                object.__setattr__(thing, name, other)
            except (AttributeError, TypeError):
                continue
            changed = True
    return changed


def _slots(kind: type) -> list[str]:
    slots = kind.__dict__.get("__slots__", ())
    return [slots] if isinstance(slots, str) else [name for name in slots if not name.startswith("__")]


def _number(value: Any, way: str) -> Any:
    return value + abs(value) + 1 if way is MORE else -value - 1


def _text(value: Any, way: str) -> Any:
    more = "~" if isinstance(value, str) else b"~"
    return value + more if way is MORE or not value else value[:0]


def _row(value: Any, way: str) -> Any:
    kind = type(value)
    if way is LESS and value:
        return kind()
    return kind([*reversed(value), value[0] if value else 0])  # neither as long nor in the same order


def _bag(value: Any, way: str) -> Any:
    return type(value)() if way is LESS and value else type(value)([*value, _Stray()])


class _Stray:
    """In nothing but what was made up."""

    def __lt__(self, other: object) -> bool:
        return True


def _table(value: Any, way: str) -> Any:
    if not value:
        return {"~": 0}
    if way is LESS:
        return {}
    return {key: another(each, way, 1)[1] for key, each in value.items()} | {"~": 0}


_DAY = datetime.timedelta(days=400)
_ANOTHER: dict[type, Callable[[Any, str], Any]] = {
    bool: lambda value, _: not value,
    int: _number,
    float: _number,
    decimal.Decimal: _number,
    fractions.Fraction: _number,
    complex: lambda value, _: value + 1,
    str: _text,
    bytes: _text,
    list: _row,
    tuple: _row,
    set: _bag,
    frozenset: _bag,
    dict: _table,
    datetime.date: lambda value, way: value + _DAY if way is MORE else value - _DAY,
    datetime.datetime: lambda value, way: value + _DAY if way is MORE else value - _DAY,
    datetime.timedelta: lambda value, way: value + _DAY if way is MORE else value - _DAY,
}
_ITERATORS = {type(iter([])), type(iter(())), type(map(str, [])), type(filter(None, [])), type(zip())}
