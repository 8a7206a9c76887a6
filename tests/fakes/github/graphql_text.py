"""As much of GraphQL as the mutations need: an operation, its variables, fields with arguments, selections."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

WORD = re.compile(
    r"""\s*(?:\#[^\n]*\s*)*(?P<word>"(?:[^"\\]|\\.)*"|\.\.\.|[A-Za-z_]\w*|-?\d+(?:\.\d+)?|[{}()\[\]:!$=@|])[\s,]*"""
)


class NotGraphQL(ValueError):
    """The text does not parse."""


@dataclass(frozen=True)
class Field:
    name: str
    alias: str
    arguments: Mapping[str, Any]
    selection: tuple[Field, ...]


@dataclass(frozen=True)
class Operation:
    kind: str  # query or mutation
    fields: tuple[Field, ...]


def parse(text: str, variables: Mapping[str, Any]) -> Operation:
    return _Reader(text, variables).operation()


class _Reader:
    def __init__(self, text: str, variables: Mapping[str, Any]) -> None:
        self.words = _words(text)
        self.at = 0
        self.variables = variables
        self.declared: set[str] = set()

    def peek(self) -> str:
        return self.words[self.at] if self.at < len(self.words) else ""

    def take(self, wanted: str = "") -> str:
        word = self.peek()
        if not word or (wanted and word != wanted):
            raise NotGraphQL(f"expected {wanted or 'more'}, found {word or 'the end'}")
        self.at += 1
        return word

    def operation(self) -> Operation:
        kind = "query" if self.peek() == "{" else self.take()
        if kind not in ("query", "mutation"):
            raise NotGraphQL(f"unknown operation {kind}")
        if self.peek() not in ("{", "("):
            self.take()
        if self.peek() == "(":
            self._declarations()
        fields = self._selection()
        if self.peek():
            raise NotGraphQL(f"one operation at a time; found {self.peek()}")
        unknown = set(self.variables) - self.declared
        if unknown:
            raise NotGraphQL(f"variables that are not declared: {', '.join(sorted(unknown))}")
        return Operation(kind, fields)

    def _declarations(self) -> None:
        self.take("(")
        while self.peek() != ")":
            self.take("$")
            self.declared.add(self.take())
            self.take(":")
            while self.peek() not in ("$", ")"):
                self.take()
        self.take(")")

    def _selection(self) -> tuple[Field, ...]:
        self.take("{")
        fields = []
        while self.peek() != "}":
            fields.append(self._field())
        self.take("}")
        return tuple(fields)

    def _field(self) -> Field:
        alias = name = self.take()
        if self.peek() == ":":
            self.take()
            name = self.take()
        arguments = self._arguments("(", ")") if self.peek() == "(" else {}
        return Field(name, alias, arguments, self._selection() if self.peek() == "{" else ())

    def _arguments(self, opens: str, closes: str) -> dict[str, Any]:
        self.take(opens)
        values = {}
        while self.peek() != closes:
            name = self.take()
            self.take(":")
            values[name] = self._value()
        self.take(closes)
        return values

    def _value(self) -> Any:
        word = self.peek()
        if word == "{":
            return self._arguments("{", "}")
        self.take()
        if word == "$":
            return self._variable(self.take())
        if word == "[":
            values = []
            while self.peek() != "]":
                values.append(self._value())
            self.take("]")
            return values
        if word[0] == '"' or word[0].isdigit() or word[0] == "-" or word in ("true", "false", "null"):
            return json.loads(word)
        return word  # an enum's

    def _variable(self, name: str) -> Any:
        if name not in self.declared:
            raise NotGraphQL(f"variable ${name} is not declared")
        return self.variables.get(name)


def _words(text: str) -> list[str]:
    words, at = [], 0
    while text[at:].strip(" \t\r\n,"):
        fits = WORD.match(text, at)
        if fits is None:
            raise NotGraphQL(f"cannot read {text[at : at + 20]!r}")
        words.append(fits["word"])
        at = fits.end()
    return words
