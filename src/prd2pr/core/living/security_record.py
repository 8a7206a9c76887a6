"""What the Security role said, read from its record. What is not understood is left out, never guessed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prd2pr.core.living.plain_yaml import listed, mapping, text
from prd2pr.core.living.worked import SecurityNote


def risks_told(raw: Any, about: str) -> Iterator[SecurityNote]:
    """`about`: the story or PRD of the record, for a risk that names no story."""
    for item in map(mapping, listed(mapping(mapping(raw).get("output")).get("risks"))):
        said = text(item.get("what"))
        if said.strip():
            test = text(mapping(item.get("required_test")).get("text"))
            yield SecurityNote(text(item.get("story")) or about, said, text(item.get("severity")), test)
