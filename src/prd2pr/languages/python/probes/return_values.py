"""Changes the return values of a story's functions to see which tests check them.

Runs under the project's own Python, like the launcher, and uses only the standard library. Always runs in a fork.

Functions keep their identity, but their code is replaced by a wrapper that calls the original and changes the result if
the caller is outside the files that the story changed. The story's own code thus works with correct values, while its
callers get changed ones.
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

MORE, LESS, NOTHING = "more", "less", "nothing"  # how values are changed; NOTHING skips the body
MAX_DEPTH = 3
_WRAPPER = """
def exchanged():
    {bound} = None
    def wrapped(*args, **named):
        {mention}
        return {name}(args, named)
    return wrapped
"""
_ASYNC_WRAPPER = _WRAPPER.replace("    def wrapped", "    async def wrapped").replace(
    "return {name}", "return await {name}"
)


class OtherError(Exception):
    """The exception that replaces the one that a function raises."""


class ReturnValueChanger:
    """Replaces functions with wrappers that change their return values."""

    def __init__(self, functions: Iterable[types.FunctionType], files: set[str]) -> None:
        self._functions = [each for each in functions if _is_simple(each)]
        self._files = files
        self.change = MORE
        self.changed = 0

    def install(self) -> None:
        for function in self._functions:
            original = types.FunctionType(
                function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
            )
            original.__kwdefaults__ = function.__kwdefaults__
            awaited = inspect.iscoroutinefunction(function)
            name = f"_{secrets.token_hex(8)}"
            setattr(builtins, name, self._make_async_wrapper(original) if awaited else self._make_wrapper(original))
            self._wrap(function, name, awaited=awaited)

    def _wrap(self, function: types.FunctionType, name: str, *, awaited: bool) -> None:
        free_variables = function.__code__.co_freevars
        text = (_ASYNC_WRAPPER if awaited else _WRAPPER).format(
            bound=" = ".join(free_variables) or "_",
            mention=f"if 0: {', '.join(free_variables)}" if free_variables else "pass",
            name=name,
        )
        made: dict[str, Any] = {}
        exec(text, made)  # noqa: S102 contains only variable names and a random name
        try:
            function.__code__ = made["exchanged"]().__code__.replace(co_name=function.__code__.co_name)
        except ValueError:
            return  # different number of free variables
        function.__defaults__ = function.__kwdefaults__ = None  # the original function applies the defaults

    def _make_wrapper(self, original: types.FunctionType) -> Callable[..., Any]:
        def answer(args: tuple[Any, ...], named: dict[str, Any]) -> Any:
            if not self._is_called_from_outside():
                return original(*args, **named)
            if self.change is NOTHING and original.__name__ != "__init__":
                self.changed += 1
                return None
            try:
                value = original(*args, **named)
            except Exception as error:  # noqa: BLE001 the story's code may raise anything
                return self._replace_error(error)
            return self._change_result(original, value, args)

        return answer

    def _make_async_wrapper(self, original: types.FunctionType) -> Callable[..., Any]:
        async def answer(args: tuple[Any, ...], named: dict[str, Any]) -> Any:
            if self.change is NOTHING:
                self.changed += 1
                return None
            try:
                value = await original(*args, **named)
            except Exception as error:  # noqa: BLE001 the story's code may raise anything
                return self._replace_error(error)
            return self._change_result(original, value, args)

        return answer

    def _is_called_from_outside(self) -> bool:
        caller = sys._getframe(3).f_code.co_filename
        return caller not in self._files and not caller.endswith("contextlib.py")

    def _replace_error(self, error: Exception) -> None:
        self.changed += 1
        if self.change is MORE:
            return
        raise OtherError(type(error).__name__) from error

    def _change_result(self, original: types.FunctionType, value: Any, args: tuple[Any, ...]) -> Any:
        if value is None:
            if (
                args
                and original.__code__.co_varnames[:1] == ("self",)
                and _change_attributes(args[0], self.change, MAX_DEPTH)
            ):
                self.changed += 1
            return None
        changed, other = make_different_value(value, self.change)
        self.changed += changed
        return other


def _is_simple(function: types.FunctionType) -> bool:
    """Return whether a function can be wrapped. Generators and functions that pytest inspects for parameters cannot."""
    generator_flags = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR
    return not function.__code__.co_flags & generator_flags and not hasattr(function, "pytestmark")


# --- different values of the same type --------------------------------------------------------------------------------


def make_different_value(value: Any, change: str, depth: int = MAX_DEPTH) -> tuple[bool, Any]:  # noqa: PLR0911 - one for each kind
    """Return whether a different value can be made, and that value."""
    kind: Any = type(value)
    make = _CHANGES.get(kind)
    if make:
        return True, make(value, change)
    if isinstance(value, enum.Enum):
        members = list(kind)
        return len(members) > 1, members[(members.index(value) + 1) % len(members)]
    if isinstance(value, pathlib.PurePath):
        return True, kind(f"{value}~")
    if isinstance(value, tuple) and hasattr(value, "_replace"):
        return _change_named_tuple(value, change, depth)
    if isinstance(value, types.GeneratorType) or kind in _ITERATORS:
        return True, iter(()) if change is LESS else itertools.chain(value, (0,))
    if isinstance(value, (type, types.FunctionType, types.ModuleType)) or callable(value) or depth == 0:
        return False, value
    return _change_object(value, change, depth)


def _change_named_tuple(value: Any, change: str, depth: int) -> tuple[bool, Any]:
    pairs = {name: make_different_value(getattr(value, name), change, depth - 1) for name in value._fields}
    found = {name: other for name, (changed, other) in pairs.items() if changed}
    return bool(found), value._replace(**found)


def _change_object(value: Any, change: str, depth: int) -> tuple[bool, Any]:
    try:
        other = copy.copy(value)
    except Exception:  # noqa: BLE001 the class may raise anything
        return False, value
    if other is value or not _change_attributes(other, change, depth):
        return False, value
    return True, other


def _change_attributes(target: Any, change: str, depth: int) -> bool:
    """Change in place every attribute for which a different value can be made. Return whether any was changed."""
    names = list(vars(target)) if hasattr(target, "__dict__") else []
    names += [name for kind in type(target).__mro__ for name in _list_slots(kind) if hasattr(target, name)]
    changed = False
    for name in names:
        can_change, other = (
            make_different_value(getattr(target, name, None), change, depth - 1) if depth else (False, None)
        )
        if can_change:
            try:
                object.__setattr__(target, name, other)
            except (AttributeError, TypeError):
                continue
            changed = True
    return changed


def _list_slots(kind: type) -> list[str]:
    slots = kind.__dict__.get("__slots__", ())
    return [slots] if isinstance(slots, str) else [name for name in slots if not name.startswith("__")]


def _change_number(value: Any, change: str) -> Any:
    return value + abs(value) + 1 if change is MORE else -value - 1


def _change_text(value: Any, change: str) -> Any:
    more = "~" if isinstance(value, str) else b"~"
    return value + more if change is MORE or not value else value[:0]


def _change_sequence(value: Any, change: str) -> Any:
    kind = type(value)
    if change is LESS and value:
        return kind()
    return kind([*reversed(value), value[0] if value else 0])  # different length and order


def _change_set(value: Any, change: str) -> Any:
    return type(value)() if change is LESS and value else type(value)([*value, _ForeignItem()])


class _ForeignItem:
    """An item that no real set contains."""

    def __lt__(self, other: object) -> bool:
        return True


def _change_dict(value: Any, change: str) -> Any:
    if not value:
        return {"~": 0}
    if change is LESS:
        return {}
    return {key: make_different_value(each, change, 1)[1] for key, each in value.items()} | {"~": 0}


_DAY = datetime.timedelta(days=400)
_CHANGES: dict[type, Callable[[Any, str], Any]] = {
    bool: lambda value, _: not value,
    int: _change_number,
    float: _change_number,
    decimal.Decimal: _change_number,
    fractions.Fraction: _change_number,
    complex: lambda value, _: value + 1,
    str: _change_text,
    bytes: _change_text,
    list: _change_sequence,
    tuple: _change_sequence,
    set: _change_set,
    frozenset: _change_set,
    dict: _change_dict,
    datetime.date: lambda value, change: value + _DAY if change is MORE else value - _DAY,
    datetime.datetime: lambda value, change: value + _DAY if change is MORE else value - _DAY,
    datetime.timedelta: lambda value, change: value + _DAY if change is MORE else value - _DAY,
}
_ITERATORS = {type(iter([])), type(iter(())), type(map(str, [])), type(filter(None, [])), type(zip())}
