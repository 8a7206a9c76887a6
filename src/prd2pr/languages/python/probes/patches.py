"""Replaces the code of existing functions to apply one fault at a time.

Runs under the project's own Python and uses only the standard library. Always runs in a fork that exits afterwards.
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

FUTURE_FLAGS = 0
for _name in __future__.all_feature_names:
    FUTURE_FLAGS |= getattr(__future__, _name).compiler_flag

Key = tuple[str, int]


class PatchedCheckout:
    """The project's files and the live functions defined in them."""

    def __init__(self, root: str, paths: list[str]) -> None:
        self._root = root + os.sep
        self._data: dict[str, bytes] = {}
        self._live: dict[str, list[types.FunctionType]] = {path: [] for path in paths}
        self._futures: dict[str, int] = {}
        self._replaced: list[tuple[types.FunctionType, types.CodeType]] = []

    def place(self, path: str) -> str:
        return self._root + path.replace("/", os.sep)

    def data(self, path: str) -> bytes:
        if path not in self._data:
            self._data[path] = Path(self.place(path)).read_bytes()
        return self._data[path]

    def find_functions(self) -> None:
        """Find all functions once, after all imports.

        Searching again for each fault would be slower than the tests.
        """
        by_file = {self.place(path): found for path, found in self._live.items()}
        for candidate in gc.get_objects():
            if type(candidate) is types.FunctionType:
                found = by_file.get(candidate.__code__.co_filename)
                if found is not None:
                    found.append(candidate)

    def is_loaded(self, path: str) -> bool:
        return bool(self._live.get(path))

    def functions(self, faults: list[dict[str, Any]]) -> list[types.FunctionType]:
        """Return the live functions that the faults affect."""
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
        """Apply a fault and return the outcome.

        The outcome is `patched`, `same` if the compiled code is unchanged, or `unpatched` if no function could be
        changed.
        """
        path = fault["path"]
        start, end, line = fault["statement"]
        data = self.data(path)
        growth = len(self.edited(fault)) - len(data)
        before = self._compiled(path, data[start:end], line)
        after = self._compiled(path, self.edited(fault)[start : end + growth], line)
        if is_same_code(before, after):
            return "same"
        return "patched" if self._replace_code(path, before, after) else "unpatched"

    def restore_functions(self) -> None:
        while self._replaced:
            function, was = self._replaced.pop()
            function.__code__ = was

    def recompile(self, path: str) -> None:
        """Replace every function with an equivalent one that is compiled like a fault.

        This reveals code that depends on its own code object.
        """
        tree = ast.parse(self.data(path))
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                line = max(1, node.lineno - 1)  # on a line of its own, otherwise the compiler drops it
                no_op = ast.Pass(lineno=line, col_offset=0, end_lineno=line, end_col_offset=1)
                node.body.insert(1 if ast.get_docstring(node, clean=False) is not None else 0, no_op)
        self._replace_code(
            path, self._compiled(path, self.data(path), 1), self._compiled(path, tree, 1), everything=True
        )

    def _replace_code(
        self, path: str, before: types.CodeType, after: types.CodeType, *, everything: bool = False
    ) -> int:
        old, new = _group_codes(before), _group_codes(after)
        replaced = 0
        for function in self._live.get(path, ()):
            key = (function.__code__.co_name, function.__code__.co_firstlineno)
            if len(old.get(key, ())) != 1 or len(new.get(key, ())) != 1:
                continue
            if not everything and is_same_code(old[key][0], new[key][0]):
                continue
            was = function.__code__
            try:
                function.__code__ = new[key][0]
            except ValueError:
                continue  # different number of free variables
            self._replaced.append((function, was))
            replaced += 1
        return replaced

    def _compiled(self, path: str, code: Any, line: int) -> types.CodeType:
        flags = self._futures.get(path)
        if flags is None:
            whole = compile(self.data(path), self.place(path), "exec", dont_inherit=True)
            flags = self._futures[path] = whole.co_flags & FUTURE_FLAGS
        code = b"\n" * (line - 1) + code if line > 1 else code
        made: types.CodeType = compile(code, self.place(path), "exec", flags=flags, dont_inherit=True)
        return made


def _walk_nested_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _walk_nested_codes(constant)


def _group_codes(code: types.CodeType) -> dict[Key, list[types.CodeType]]:
    found: dict[Key, list[types.CodeType]] = {}
    for each in _walk_nested_codes(code):
        found.setdefault((each.co_name, each.co_firstlineno), []).append(each)
    return found


def is_same_code(one: types.CodeType, other: types.CodeType) -> bool:
    """Return whether two code objects are equivalent, regardless of their position in the file."""
    if one.co_code != other.co_code or len(one.co_consts) != len(other.co_consts):
        return False
    if (one.co_names, one.co_varnames, one.co_freevars) != (other.co_names, other.co_varnames, other.co_freevars):
        return False
    if getattr(one, "co_exceptiontable", b"") != getattr(other, "co_exceptiontable", b""):
        return False
    return all(_is_same_constant(a, b) for a, b in zip(one.co_consts, other.co_consts))  # noqa: B905 Python 3.9


def _is_same_constant(one: object, other: object) -> bool:
    if isinstance(one, types.CodeType) and isinstance(other, types.CodeType):
        return is_same_code(one, other)
    return type(one) is type(other) and repr(one) == repr(other)


# --- other values -----------------------------------------------------------------------------------------------------


class NeverEqual:
    """An object that equals only itself."""

    def __repr__(self) -> str:
        return "<another value>"


UNEQUAL_TEXT = "\u2400 another value \u2400"


def perturb_value(value: Any, role: str = "") -> Any:
    """Return a different value, of the same type where that is simple."""
    if role == "pattern":
        return UNEQUAL_TEXT if isinstance(value, str) else re.compile(re.escape(UNEQUAL_TEXT))
    if role == "member":
        return (
            value + UNEQUAL_TEXT
            if type(value) is str
            else (value + UNEQUAL_TEXT.encode() if type(value) is bytes else NeverEqual())
        )
    if role == "container":
        return [NeverEqual()]
    other = _make_different_value(value)
    return NeverEqual() if type(other) is type(value) and bool(other == value) else other


def _make_different_value(value: Any) -> Any:
    make = _DIFFERENT_VALUES.get(type(value))
    return make(value) if make else NeverEqual()


_DIFFERENT_VALUES: dict[type, Callable[[Any], Any]] = {
    bool: lambda value: not value,
    int: lambda value: value + abs(value) + 1,
    float: lambda value: value + abs(value) + 1,
    str: lambda value: value + UNEQUAL_TEXT,
    bytes: lambda value: value + UNEQUAL_TEXT.encode(),
    list: lambda value: [*value[:-1], _perturb_part(value[-1])] if value else [NeverEqual()],
    tuple: lambda value: (*value[:-1], _perturb_part(value[-1])) if value else (NeverEqual(),),
    set: lambda value: {*value, NeverEqual()},
    frozenset: lambda value: frozenset([*value, NeverEqual()]),
    dict: lambda value: (
        {**value, list(value)[-1]: _perturb_part(list(value.values())[-1])} if value else {NeverEqual(): NeverEqual()}
    ),
    datetime.timedelta: lambda value: value + abs(value) + datetime.timedelta(days=1),
}


def _perturb_part(value: Any) -> Any:
    """Replace one part of a value, keeping the other parts and the length."""
    return NeverEqual() if type(value) in (set, frozenset) else perturb_value(value)


def install_perturbation(name: str) -> None:
    setattr(builtins, name, perturb_value)
