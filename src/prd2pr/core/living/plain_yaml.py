"""YAML of tools, as plain data. Unlike `strict_yaml` it takes what people really write there: anchors, tags, several
documents. What cannot be read says nothing; a document about it is not the place to complain."""

from __future__ import annotations

import re
from typing import Any

import yaml

LARGEST = 128 * 1024
MOST_DOCUMENTS = 100
MOST_BRACKETS = 2000
_NESTED_IN_A_LINE = re.compile(r"^[ \t]*(?:[-?:][ \t]+){40}", re.MULTILINE)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # either is a class
    """Own tags are passed over. Merge keys are not expanded: nested ones grow without end."""

    def flatten_mapping(self, node: Any) -> None:
        """Left as they are; a `<<` is then a key like any other."""


def _untagged(loader: Any, _: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return str(node.value)


def _as_written(_: Any, node: yaml.Node) -> str:
    return str(node.value)


_Loader.add_multi_constructor("!", _untagged)
for _tag in ("merge", "timestamp", "bool", "value"):  # `on:` is a key of workflows, and no truth value
    _Loader.add_constructor(f"tag:yaml.org,2002:{_tag}", _as_written)


def is_readable(text: str) -> bool:
    """The quick loader goes down by the machine's own stack: what may nest without end is not given to it."""
    brackets = text.count("[") + text.count("{")
    return len(text) <= LARGEST and brackets <= MOST_BRACKETS and not _NESTED_IN_A_LINE.search(text)


def yaml_documents(text: str) -> list[Any]:
    if not is_readable(text):
        return []
    try:
        found = []
        for document in yaml.load_all(text, Loader=_Loader):
            found.append(document)
            if len(found) >= MOST_DOCUMENTS:
                break
    except (yaml.YAMLError, ValueError, TypeError, RecursionError, OverflowError):
        return []
    return found


def mapping(value: Any) -> dict[str, Any]:
    """Keys as text; anything else is no mapping, and empty."""
    return {str(key): each for key, each in value.items()} if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    """A list, or one thing that stands where a list may stand."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def texts(value: Any) -> tuple[str, ...]:
    """The plain values of a list, or the keys of a mapping."""
    if isinstance(value, dict):
        return tuple(str(key) for key in value)
    return tuple(str(each) for each in listed(value) if isinstance(each, str | int | float | bool))


def text(value: Any) -> str:
    return str(value) if isinstance(value, str | int | float | bool) else ""
