"""The facts of one source file, as records that can be cached and read back quickly."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

# Part of the cache's name, so that facts of another version are ignored.
FACTS_VERSION = 2


class SourceSymbol(NamedTuple):
    """A public name. `owner` is the class of a method, and empty for a top-level name."""

    name: str
    kind: str  # class, function, value or type
    line: int
    owner: str = ""


class SourceFunction(NamedTuple):
    name: str  # with its class, as in Cart.add
    line: int
    length: int
    complexity: int
    annotated: bool


class EnvRead(NamedTuple):
    name: str
    line: int
    required: bool  # it is read without a default
    default: str = ""  # the default, if it is a literal string


class CodeRisk(NamedTuple):
    """A call that is dangerous if it receives untrusted input."""

    call: str
    why: str
    line: int


class HttpRoute(NamedTuple):
    method: str
    path: str
    handler: str
    line: int


class CliCommand(NamedTuple):
    name: str
    about: str
    line: int


class ErrorClass(NamedTuple):
    name: str
    about: str
    line: int


class SourceFile(NamedTuple):
    language: str
    lines: int
    about: str = ""  # the first sentence of the docstring
    parsed: bool = True  # False if the syntax is invalid or nested too deep
    symbols: tuple[SourceSymbol, ...] = ()
    functions: tuple[SourceFunction, ...] = ()
    imports: tuple[str, ...] = ()  # as in a.b, a.b:name, ..x:name or ./sibling
    env: tuple[EnvRead, ...] = ()
    risks: tuple[CodeRisk, ...] = ()
    routes: tuple[HttpRoute, ...] = ()
    commands: tuple[CliCommand, ...] = ()
    errors: tuple[ErrorClass, ...] = ()
    tests: int = 0
    frozen_classes: int = 0
    data_classes: int = 0
    is_program: bool = False  # has an `if __name__ == "__main__"`
    branches: int = 0  # counted by keyword for the whole file, in languages without a parser


_ROWS: dict[str, type[Any]] = {
    "symbols": SourceSymbol,
    "functions": SourceFunction,
    "env": EnvRead,
    "risks": CodeRisk,
    "routes": HttpRoute,
    "commands": CliCommand,
    "errors": ErrorClass,
}


def source_file_to_json(file: SourceFile) -> str:
    """Return the facts as one line of JSON, without empty fields."""
    fields = {name: value for name, value in file._asdict().items() if value or name == "parsed"}
    return json.dumps(fields, ensure_ascii=True, separators=(",", ":"))


def source_file_from_json(text: str) -> SourceFile | None:
    """Read the facts back. Return None if they are invalid, since a cache may be damaged or tampered with."""
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
