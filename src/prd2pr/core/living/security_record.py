"""What the Security role said, read from its record. Roles grow; what is not understood is left out, never guessed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prd2pr.core.living.plain_yaml import listed, mapping, text
from prd2pr.core.living.worked import RequiredTest, SecurityNote

_RISKS = ("risks", "findings", "threats", "issues")
_TESTS = ("required_tests", "tests")
_TEXTS = ("risk", "title", "text", "description", "summary", "what", "name")
_SEVERITIES = ("severity", "level")
_REMEDIES = ("mitigation", "remedy", "advice", "fix", "recommendation")


def risks_told(raw: Any, about: str) -> Iterator[SecurityNote]:
    for record in _bodies(raw):
        for item in (each for key in _RISKS for each in listed(record.get(key))):
            said = text(item) or _first(mapping(item), _TEXTS)
            if said.strip():
                severity, remedy = _first(mapping(item), _SEVERITIES), _first(mapping(item), _REMEDIES)
                yield SecurityNote(about, said, severity, remedy)


def tests_asked_for(raw: Any, about: str) -> Iterator[RequiredTest]:
    for record in _bodies(raw):
        for item in (each for key in _TESTS for each in listed(record.get(key))):
            said = text(item) or _first(mapping(item), _TEXTS)
            if said.strip():
                yield RequiredTest(about, said)


def _bodies(raw: Any) -> list[dict[str, Any]]:
    """The record itself, and the answer inside of it where one is kept there."""
    record = mapping(raw)
    return [record, *(mapping(record.get(key)) for key in ("output", "answer", "result", "report") if record.get(key))]


def _first(item: dict[str, Any], keys: tuple[str, ...]) -> str:
    return next((said for key in keys if (said := text(item.get(key)))), "")
