"""What one source file says of itself, as rows of plain values: quickly kept, and quickly read back."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

# Goes into the cache's name: facts of another version are not believed.
VERSION = 2


class Symbol(NamedTuple):
    """A public name. `owner` is the class of a method, empty at the top of a module."""

    name: str
    kind: str  # class, function, value, type
    line: int
    owner: str = ""


class Function(NamedTuple):
    name: str  # with its class: Cart.add
    line: int
    length: int
    complexity: int
    annotated: bool


class EnvRead(NamedTuple):
    name: str
    line: int
    required: bool  # read without a default
    default: str = ""  # where it is plain text


class Risk(NamedTuple):
    """A call that can do harm when it is given what others wrote."""

    call: str
    why: str
    line: int


class Route(NamedTuple):
    method: str
    path: str
    handler: str
    line: int


class CliCommand(NamedTuple):
    name: str
    about: str
    line: int


class OwnError(NamedTuple):
    name: str
    about: str
    line: int


class SourceFile(NamedTuple):
    language: str
    lines: int
    about: str = ""  # the first sentence of the docstring
    parsed: bool = True  # False: it is not what its name says, or too deep
    symbols: tuple[Symbol, ...] = ()
    functions: tuple[Function, ...] = ()
    imports: tuple[str, ...] = ()  # a.b, a.b:name, ..x:name, ./sibling
    env: tuple[EnvRead, ...] = ()
    risks: tuple[Risk, ...] = ()
    routes: tuple[Route, ...] = ()
    commands: tuple[CliCommand, ...] = ()
    errors: tuple[OwnError, ...] = ()
    tests: int = 0
    frozen_classes: int = 0
    data_classes: int = 0
    is_program: bool = False  # has an `if __name__ == "__main__"`
    branches: int = 0  # in the whole file, by their words: of languages that are not parsed


_ROWS: dict[str, type[Any]] = {
    "symbols": Symbol,
    "functions": Function,
    "env": EnvRead,
    "risks": Risk,
    "routes": Route,
    "commands": CliCommand,
    "errors": OwnError,
}


def as_json(file: SourceFile) -> str:
    """One line. What is empty is left out: most files have few kinds of rows."""
    told = {name: value for name, value in file._asdict().items() if value or name == "parsed"}
    return json.dumps(told, ensure_ascii=True, separators=(",", ":"))


def from_json(text: str) -> SourceFile | None:
    """None where it is not what `as_json` writes: a cache may be cut off or tampered with."""
    try:
        raw = json.loads(text)
        rows: dict[str, Any] = {
            name: tuple(kind(*row) for row in raw.pop(name)) for name, kind in _ROWS.items() if name in raw
        }
        if "imports" in raw:
            raw["imports"] = tuple(raw["imports"])
        return SourceFile(**raw, **rows)
    except (ValueError, TypeError, AttributeError):
        return None
