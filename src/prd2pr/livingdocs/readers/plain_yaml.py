"""Read the YAML files of tools as plain data, allowing anchors, tags and several documents, unlike `strict_yaml`.

Unreadable YAML counts as empty.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

LARGEST_YAML = 128 * 1024
MAX_DOCUMENTS = 100
MAX_BRACKETS = 2000
_NESTED_IN_A_LINE = re.compile(r"^[ \t]*(?:[-?:][ \t]+){40}", re.MULTILINE)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # either is a class
    """A loader that ignores custom tags and does not expand merge keys, since nested ones grow exponentially."""

    def flatten_mapping(self, node: Any) -> None:
        """Keep `<<` as an ordinary key."""


def _construct_untagged(loader: Any, _: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return str(node.value)


def _construct_text(_: Any, node: yaml.Node) -> str:
    return str(node.value)


_Loader.add_multi_constructor("!", _construct_untagged)
for _tag in ("merge", "timestamp", "bool", "value"):  # `on:` is a key of workflows, not a boolean
    _Loader.add_constructor(f"tag:yaml.org,2002:{_tag}", _construct_text)


def is_safe_yaml(text: str) -> bool:
    """Return whether the text is small and shallow enough for the C loader, which recurses on the machine's stack."""
    brackets = text.count("[") + text.count("{")
    return len(text) <= LARGEST_YAML and brackets <= MAX_BRACKETS and not _NESTED_IN_A_LINE.search(text)


def load_yaml_documents(text: str) -> list[Any]:
    if not is_safe_yaml(text):
        return []
    try:
        found = []
        for document in yaml.load_all(text, Loader=_Loader):
            found.append(document)
            if len(found) >= MAX_DOCUMENTS:
                break
    except (yaml.YAMLError, ValueError, TypeError, RecursionError, OverflowError):
        return []
    return found


def as_mapping(value: Any) -> dict[str, Any]:
    """Return the value as a mapping with string keys, or an empty one if it is not a mapping."""
    return {str(key): each for key, each in value.items()} if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return the value as a list. A single value becomes a list of one."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def as_texts(value: Any) -> tuple[str, ...]:
    """Return the scalar values of a list or the keys of a mapping as strings."""
    if isinstance(value, dict):
        return tuple(str(key) for key in value)
    return tuple(str(each) for each in as_list(value) if isinstance(each, str | int | float | bool))


def as_text(value: Any) -> str:
    return str(value) if isinstance(value, str | int | float | bool) else ""
