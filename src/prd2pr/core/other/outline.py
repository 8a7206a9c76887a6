"""Public signatures of a file, for the map of the repository that roles are shown."""

from __future__ import annotations

from prd2pr.core.context import Outlines, python_outline
from prd2pr.core.other.language import language_of


def outlines_of(name: str) -> Outlines:
    """Of this language, and of Python beside it."""
    language = language_of(name)

    def outline(path: str, text: str) -> tuple[str, ...]:
        if not language.owns(path) or language.is_test_file(path):
            return python_outline(path, text)
        module = language.module(path)
        found = (each for each in language.signatures(path, text))
        return tuple(f"{each.name.removeprefix(f'{module}.')} {each.text}" for each in found)

    return outline
