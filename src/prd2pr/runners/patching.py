"""Exchanges the code of functions that are there already, for one fault at a time.

Executed by the project's own Python: standard library alone. Always inside a fork that ends with the fault.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import datetime
import gc
import os
import re
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

FUTURES = 0
for _name in __future__.all_feature_names:
    FUTURES |= getattr(__future__, _name).compiler_flag

Key = tuple[str, int]


class Checkout:
    """Files of the project, and the functions that were made from them."""

    def __init__(self, root: str, paths: list[str]) -> None:
        self._root = root + os.sep
        self._data: dict[str, bytes] = {}
        self._live: dict[str, list[types.FunctionType]] = {path: [] for path in paths}
        self._futures: dict[str, int] = {}
        self._exchanged: list[tuple[types.FunctionType, types.CodeType]] = []

    def place(self, path: str) -> str:
        return self._root + path.replace("/", os.sep)

    def data(self, path: str) -> bytes:
        if path not in self._data:
            self._data[path] = Path(self.place(path)).read_bytes()
        return self._data[path]

    def look_for_functions(self) -> None:
        """Once, when everything is imported: to search all objects for each fault would take longer than the tests."""
        by_file = {self.place(path): found for path, found in self._live.items()}
        for thing in gc.get_objects():
            if type(thing) is types.FunctionType:
                found = by_file.get(thing.__code__.co_filename)
                if found is not None:
                    found.append(thing)

    def is_loaded(self, path: str) -> bool:
        return bool(self._live.get(path))

    def functions(self, faults: list[dict[str, Any]]) -> list[types.FunctionType]:
        """Those that are there of the ones that faults are about."""
        wanted = {(fault["path"], fault["function"]) for fault in faults}
        return [
            function
            for path, found in self._live.items()
            for function in found
            if (path, function.__qualname__.replace(".<locals>", "")) in wanted
        ]

    def edited(self, fault: dict[str, Any]) -> bytes:
        start, end, text = fault["edit"]
        data = self.data(fault["path"])
        return data[:start] + str(text).encode() + data[end:]

    def patch(self, fault: dict[str, Any]) -> str:
        """`patched`; `same` where the program is the same with the fault; `unpatched` where no function took it."""
        path = fault["path"]
        start, end, line = fault["statement"]
        data = self.data(path)
        grown = len(self.edited(fault)) - len(data)
        before = self._compiled(path, data[start:end], line)
        after = self._compiled(path, self.edited(fault)[start : end + grown], line)
        if alike(before, after):
            return "same"
        return "patched" if self._exchange(path, before, after) else "unpatched"

    def mend(self) -> None:
        while self._exchanged:
            function, was = self._exchanged.pop()
            function.__code__ = was

    def recompile(self, path: str) -> None:
        """The very same program from the very same text, made as faults are made: whoever minds is found out."""
        tree = ast.parse(self.data(path))
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                line = max(1, node.lineno - 1)  # of its own, or the compiler leaves it out
                idle = ast.Pass(lineno=line, col_offset=0, end_lineno=line, end_col_offset=1)
                node.body.insert(1 if ast.get_docstring(node, clean=False) is not None else 0, idle)
        self._exchange(path, self._compiled(path, self.data(path), 1), self._compiled(path, tree, 1), everything=True)

    def _exchange(self, path: str, before: types.CodeType, after: types.CodeType, *, everything: bool = False) -> int:
        old, new = _by_key(before), _by_key(after)
        exchanged = 0
        for function in self._live.get(path, ()):
            key = (function.__code__.co_name, function.__code__.co_firstlineno)
            if len(old.get(key, ())) != 1 or len(new.get(key, ())) != 1:
                continue
            if not everything and alike(old[key][0], new[key][0]):
                continue
            was = function.__code__
            try:
                function.__code__ = new[key][0]
            except ValueError:
                continue  # another number of free variables
            self._exchanged.append((function, was))
            exchanged += 1
        return exchanged

    def _compiled(self, path: str, code: Any, line: int) -> types.CodeType:
        flags = self._futures.get(path)
        if flags is None:
            whole = compile(self.data(path), self.place(path), "exec", dont_inherit=True)
            flags = self._futures[path] = whole.co_flags & FUTURES
        code = b"\n" * (line - 1) + code if line > 1 else code
        made: types.CodeType = compile(code, self.place(path), "exec", flags=flags, dont_inherit=True)
        return made


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _codes(constant)


def _by_key(code: types.CodeType) -> dict[Key, list[types.CodeType]]:
    found: dict[Key, list[types.CodeType]] = {}
    for each in _codes(code):
        found.setdefault((each.co_name, each.co_firstlineno), []).append(each)
    return found


def alike(one: types.CodeType, other: types.CodeType) -> bool:
    """Whether they do the same, step by step, wherever in the file they stand."""
    if one.co_code != other.co_code or len(one.co_consts) != len(other.co_consts):
        return False
    if (one.co_names, one.co_varnames, one.co_freevars) != (other.co_names, other.co_varnames, other.co_freevars):
        return False
    if getattr(one, "co_exceptiontable", b"") != getattr(other, "co_exceptiontable", b""):
        return False
    return all(_same_constant(a, b) for a, b in zip(one.co_consts, other.co_consts))  # noqa: B905 Python 3.9


def _same_constant(one: object, other: object) -> bool:
    if isinstance(one, types.CodeType) and isinstance(other, types.CodeType):
        return alike(one, other)
    return type(one) is type(other) and repr(one) == repr(other)


# --- other values -----------------------------------------------------------------------------------------------------


class Other:
    """Equals nothing but itself."""

    def __repr__(self) -> str:
        return "<another value>"


NEVER = "\u2400 another value \u2400"


def perturbed(value: Any, role: str = "") -> Any:
    """Something that is not this value, of the same type where that is simple."""
    if role == "pattern":
        return NEVER if isinstance(value, str) else re.compile(re.escape(NEVER))
    if role == "member":
        return value + NEVER if type(value) is str else (value + NEVER.encode() if type(value) is bytes else Other())
    if role == "container":
        return [Other()]
    other = _different(value)
    return Other() if type(other) is type(value) and bool(other == value) else other


def _different(value: Any) -> Any:
    make = _DIFFERENT.get(type(value))
    return make(value) if make else Other()


_DIFFERENT: dict[type, Callable[[Any], Any]] = {
    bool: lambda value: not value,
    int: lambda value: value + abs(value) + 1,
    float: lambda value: value + abs(value) + 1,
    str: lambda value: value + NEVER,
    bytes: lambda value: value + NEVER.encode(),
    list: lambda value: [*value[:-1], _near(value[-1])] if value else [Other()],
    tuple: lambda value: (*value[:-1], _near(value[-1])) if value else (Other(),),
    set: lambda value: {*value, Other()},
    frozenset: lambda value: frozenset([*value, Other()]),
    dict: lambda value: {**value, list(value)[-1]: _near(list(value.values())[-1])} if value else {Other(): Other()},
    datetime.timedelta: lambda value: value + abs(value) + datetime.timedelta(days=1),
}


def _near(value: Any) -> Any:
    """In place of one part of a value: the rest is as it was, and so is its length."""
    return Other() if type(value) in (set, frozenset) else perturbed(value)


def install_perturbed(name: str) -> None:
    setattr(builtins, name, perturbed)
