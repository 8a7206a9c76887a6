"""Convert YAML or JSON to an outline: keys become headings, list elements items, and long texts Markdown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from prd2pr.prd.markdown import read_markdown
from prd2pr.prd.outline import NO_BLOCK, Outline, strip_markdown
from prd2pr.prd.requirement_ids import find_mentioned_ids, parse_leading_label
from prd2pr.prd.strict_yaml import KeyPath, LoadedDocument

# Document metadata, which contains no requirements.
METADATA = frozenset(
    {"id", "title", "version", "status", "author", "authors", "owner", "owners", "date", "created", "updated"}
    | {"priority", "labels", "tags", "schema", "$schema", "despite"}
)
_ID_KEYS = ("id", "key", "ref", "number")
_TEXT_KEYS = ("title", "name", "text", "description", "statement", "requirement", "criterion", "summary", "story")
_NAMING_KEYS = frozenset({"requirement", "requirements", "parent", "for", "covers"})
_WAITING_KEYS = frozenset({"depends_on", "dependencies", "depends", "after", "blocked_by"})
_COUNTED = {"phases": "Phase", "milestones": "Phase", "cycles": "Cycle", "steps": "Cycle", "tasks": "Cycle"}


def read_structured(loaded: LoadedDocument, outline: Outline) -> None:
    writer = _Writer(loaded, outline)
    for key, value in loaded.data.items():
        if key.lower() not in METADATA:
            writer.section(key, value, (key,), level=1)


@dataclass(frozen=True)
class _Writer:
    loaded: LoadedDocument
    outline: Outline

    def section(self, key: str, value: Any, path: KeyPath, level: int) -> None:
        line = self.loaded.find_line(path)
        if parse_leading_label(key) is not None:
            self._labelled(key, value, path, NO_BLOCK)
            return
        self.outline.heading(key.replace("_", " "), level, line)
        if isinstance(value, dict):
            for inner, content in value.items():
                self.section(inner, content, (*path, inner), level + 1)
        elif isinstance(value, list):
            self._elements(key, value, path, NO_BLOCK)
        elif isinstance(value, str):
            # A block scalar begins on the line after its key.
            first = line + 1 if "\n" in value else line
            read_markdown(value, self.outline, first_line=first, base_level=level)

    def _elements(self, key: str, values: list[Any], path: KeyPath, parent: int) -> None:
        for n, value in enumerate(values):
            here = (*path, n)
            if isinstance(value, dict):
                self._mapping(key, n, value, here, parent)
            elif isinstance(value, list):
                self._elements(key, value, here, parent)
            elif value is not None:
                self._item(_number_element(key, str(value), n), here, parent)

    def _item(self, text: str, path: KeyPath, parent: int) -> int:
        return self.outline.item(strip_markdown(text), self.loaded.find_line(path), parent)

    def _labelled(self, label: str, value: Any, path: KeyPath, parent: int) -> None:
        """Add `FR-1: text`, or `FR-1:` with the keys below it."""
        if isinstance(value, dict):
            self._mapping("", 0, {"id": label, **value}, path, parent)
            return
        item = self._item(f"{label}: {value}" if isinstance(value, str) else label, path, parent)
        if isinstance(value, list):
            self._elements(label, value, path, item)

    def _mapping(self, key: str, n: int, value: dict[str, Any], path: KeyPath, parent: int) -> None:
        if len(value) == 1 and parse_leading_label(next(iter(value))):
            label, content = next(iter(value.items()))
            self._labelled(label, content, (*path, label), parent)
            return
        name_key = next((k for k in _ID_KEYS if isinstance(value.get(k), str | int)), "")
        text_key = next((k for k in _TEXT_KEYS if isinstance(value.get(k), str)), "")
        item = self._item(_format_head(key, n, value, name_key, text_key), path, parent)
        for inner, content in value.items():
            if inner not in (name_key, text_key) and not (inner in _NAMING_KEYS and _belongs_in_head(key, content)):
                self._detail(inner, content, (*path, inner), item)

    def _detail(self, key: str, value: Any, path: KeyPath, parent: int) -> None:
        word = key.lower()
        if parse_leading_label(key) is not None:
            self._labelled(key, value, path, parent)
        elif word in _WAITING_KEYS or (word in _NAMING_KEYS and _join_scalars(value)):
            if _join_scalars(value):
                label = "depends on" if word in _WAITING_KEYS else "requirements"
                self._item(f"{label}: {_join_scalars(value)}", path, parent)
        elif isinstance(value, dict):
            for inner, content in value.items():
                self._detail(inner, content, (*path, inner), parent)
        elif isinstance(value, list):
            self._elements(key, value, path, parent)
        elif value is not None:
            prefix = key.upper() if word in ("given", "when", "then", "and", "but") else f"{key.replace('_', ' ')}:"
            self._item(str(value) if word in _TEXT_KEYS else f"{prefix} {value}", path, parent)


def _format_head(key: str, n: int, value: dict[str, Any], name_key: str, text_key: str) -> str:
    name = str(value[name_key]) if name_key else ""
    text = str(value[text_key]) if text_key else ""
    if key.lower() in _COUNTED:
        return _number_element(key, text, n, name)
    if name.isdigit():
        name = f"{_choose_prefix(key)}-{name}"
    named = [
        found for k in _NAMING_KEYS if k != text_key and _belongs_in_head(key, value.get(k)) for found in [value[k]]
    ]
    about = f" ({_join_scalars(named[0])})" if named else ""
    return f"{name}:{about} {text}".strip() if name else f"{about} {text}".strip()


def _number_element(key: str, text: str, n: int, name: str = "") -> str:
    """Return a numbered title, such as "Phase 1: Core" for `phases: [{name: Core}]`."""
    word = _COUNTED.get(key.lower())
    if word is None or re.match(rf"(?i){word}\s+\w", text):
        return text
    number = re.sub(r"(?i)^(?:phase|milestone|cycle|step|task|c|p)[-_ ]*(?=\d)", "", name) or str(n + 1)
    return f"{word} {number}: {text}"


def _choose_prefix(key: str) -> str:
    words = key.lower()
    return "NFR" if "non" in words else "AC" if "accept" in words else "FR"


def _belongs_in_head(key: str, value: Any) -> bool:
    """Return whether ids belong on the same line as the item's id, as for a criterion.

    For a cycle they get their own line.
    """
    return key.lower() not in _COUNTED and bool(find_mentioned_ids(_join_scalars(value)))


def _join_scalars(value: Any) -> str:
    """Return a scalar or a list of scalars on one line, or an empty string for other values."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list) and all(isinstance(element, str | int | float) for element in value):
        return ", ".join(_join_scalars(element) for element in value)
    return ""
