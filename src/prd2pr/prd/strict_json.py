"""Parse JSON with the line of every key. Duplicate keys, deep nesting, NaN and lone surrogates are refused."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from prd2pr.errors import InputInvalid
from prd2pr.prd.strict_yaml import MAX_DEPTH, KeyPath, LoadedDocument

_SPACE = re.compile(r"[ \t\n\r]*")


def load_json(text: str, where: str, *, max_depth: int = MAX_DEPTH) -> LoadedDocument:
    reader = _Reader(text, where, max_depth)
    data = reader.value(())
    if reader.peek():
        reader.refuse("there is more text after the end of the JSON")
    return LoadedDocument(data, reader.lines)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


class _Reader:
    """Parses objects and lists itself to track lines and duplicate keys; the standard decoder parses scalars."""

    def __init__(self, text: str, where: str, max_depth: int) -> None:
        self.text, self.where, self.max_depth = text, where, max_depth
        self.at = 0
        self.line = 1
        self.counted = 0
        self.lines: dict[KeyPath, int] = {}
        self.scalars = json.JSONDecoder(parse_constant=_refuse_constant)

    def peek(self) -> str:
        """Return the next character that is not whitespace, or an empty string at the end."""
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at
        self.line += self.text.count("\n", self.counted, self.at)
        self.counted = self.at
        return self.text[self.at : self.at + 1]

    def refuse(self, what: str) -> NoReturn:
        raise InputInvalid(
            f"not valid JSON: {what}",
            where=f"{self.where}:{self.line}",
            remedy="Check that line and the one before it: commas, quotes and brackets are the usual causes.",
        ) from None

    def value(self, path: KeyPath) -> Any:
        following = self.peek()
        self.lines.setdefault(path, self.line)
        if following in ("{", "["):
            if len(path) >= self.max_depth:
                self.refuse(f"nested deeper than {self.max_depth} levels")
            return self._object(path) if following == "{" else self._list(path)
        return self._scalar()

    def _scalar(self) -> Any:
        try:
            value, self.at = self.scalars.raw_decode(self.text, self.at)
        except ValueError as error:
            # Also raised for numbers with too many digits for the standard library.
            self.refuse(getattr(error, "msg", str(error)))
        if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
            self.refuse("a string contains a lone surrogate")
        return value

    def _object(self, path: KeyPath) -> dict[str, Any]:
        result: dict[str, Any] = {}
        self.at += 1
        while self.peek() != "}":
            if result:
                self._expect(",")
            if self.peek() != '"':
                self.refuse("expected a key in double quotes")
            key = self._scalar()
            if key in result:
                self.refuse(f"duplicate key `{key}`")
            self.lines[*path, key] = self.line
            self._expect(":")
            result[key] = self.value((*path, key))
        self.at += 1
        return result

    def _list(self, path: KeyPath) -> list[Any]:
        result: list[Any] = []
        self.at += 1
        while self.peek() != "]":
            if result:
                self._expect(",")
            result.append(self.value((*path, len(result))))
        self.at += 1
        return result

    def _expect(self, mark: str) -> None:
        if self.peek() != mark:
            self.refuse(f"expected `{mark}`")
        self.at += 1
