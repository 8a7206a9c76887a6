"""Parse a strict subset of YAML: no anchors, aliases, tags, duplicate keys or second documents.

Scalars follow YAML 1.2: only `true` and `false` are booleans (`off`, `no`, `on` and dates are strings), and keys are
always strings. The line of every value is kept for error messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import yaml

from prd2pr.errors import InputInvalid

MAX_BYTES = 512 * 1024
MAX_DEPTH = 32

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True)
class LoadedDocument:
    """Plain data (dict, list, str, int, float, bool, None) and the line of each key or element."""

    data: Any
    lines: Mapping[KeyPath, int]

    def find_line(self, path: KeyPath) -> int:
        """Return the line of the value, or of the nearest enclosing one."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


class _Resolver(yaml.resolver.BaseResolver):
    """Resolves only the scalars of YAML 1.2's core schema. Integers longer than 64 bits stay strings."""


_Resolver.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""])
_Resolver.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$", re.IGNORECASE), list("tTfF"))
_Resolver.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"^[-+]?(?:0|[1-9][0-9]{0,17})$", re.ASCII), list("-+0123456789")
)
_Resolver.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"^[-+]?(?:[0-9]{1,18}\.[0-9]{0,18}|\.[0-9]{1,18}|[0-9]{1,18}(?=[eE]))(?:[eE][-+]?[0-9]{1,2})?$", re.ASCII
    ),
    list("-+.0123456789"),
)


class _StrictLoader(
    yaml.reader.Reader,
    yaml.scanner.Scanner,
    yaml.parser.Parser,
    yaml.composer.Composer,
    yaml.constructor.SafeConstructor,
    _Resolver,
):
    """PyYAML's safe loader with a composer that refuses forbidden nodes."""

    def __init__(self, text: str, max_depth: int) -> None:
        yaml.reader.Reader.__init__(self, text)
        yaml.scanner.Scanner.__init__(self)
        yaml.parser.Parser.__init__(self)
        yaml.composer.Composer.__init__(self)
        yaml.constructor.SafeConstructor.__init__(self)
        _Resolver.__init__(self)
        self.max_depth = max_depth
        self.depth = 0

    def next_event(self) -> Any:
        peek: Callable[[], Any] = self.peek_event
        return peek()

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.next_event()
        line = event.start_mark.line
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise _YamlRefused("anchors and aliases (`&name`, `*name`) are not allowed", line, "Write the value out.")
        if getattr(event, "tag", None) is not None:
            raise _YamlRefused(f"the tag `{event.tag}` is not allowed", line, "Remove the tag; put text in quotes.")
        if self.depth >= self.max_depth:
            raise _YamlRefused(f"nested deeper than {self.max_depth} levels", line, "Flatten the structure.")
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


class _YamlRefused(Exception):
    def __init__(self, what: str, line: int, remedy: str) -> None:
        super().__init__(what)
        self.what, self.line, self.remedy = what, line, remedy


def load_yaml(
    text: str, where: str, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH, first_line: int = 1
) -> LoadedDocument:
    """Load one YAML document with its lines. `first_line` is the line of the file `where` at which `text` begins."""
    if len(text.encode("utf-8", "surrogatepass")) > max_bytes:
        raise InputInvalid(
            f"the YAML is larger than {max_bytes // 1024} KiB",
            where=where,
            remedy="Split the file, or shorten it.",
        )
    lines: dict[KeyPath, int] = {}
    try:
        data = _load_document(text, max_depth, lines, first_line)
    except _YamlRefused as refused:
        _refuse(refused.what, where, refused.line + first_line, refused.remedy)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "it cannot be read"
        _refuse(f"not valid YAML: {problem}", where, (mark.line if mark else 0) + first_line, _YAML_REMEDY)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + first_line
        _refuse(f"character U+{_code_point(error.character):04X} is not allowed in YAML", where, line, "Remove it.")
    except (ValueError, OverflowError) as error:
        # PyYAML raises these for escapes such as "\UFFFFFFFF" and for absurd version numbers.
        _refuse(f"not valid YAML: {error}", where, first_line, _YAML_REMEDY)
    return LoadedDocument(data, lines)


_YAML_REMEDY = "Check that line and the one before it: indentation, quotes and colons are the usual causes."


def _code_point(character: int | str | bytes) -> int:
    return character if isinstance(character, int) else ord(character)


def _refuse(what: str, where: str, line: int, remedy: str) -> NoReturn:
    # Not chained, since PyYAML's own message adds nothing useful.
    raise InputInvalid(what, where=f"{where}:{line}", remedy=remedy) from None


def _load_document(text: str, max_depth: int, lines: dict[KeyPath, int], first_line: int) -> Any:
    loader = _StrictLoader(text, max_depth)
    if not loader.check_node():
        return None
    node = loader.get_node()
    data = _Builder(loader, lines, first_line).build(node, ())
    if loader.check_node():
        line = loader.next_event().start_mark.line
        raise _YamlRefused("a second YAML document begins here", line, "Keep one document; remove the `---` line.")
    return data


@dataclass(frozen=True)
class _Builder:
    """Converts nodes to plain data. The composer has already limited the depth."""

    loader: _StrictLoader
    lines: dict[KeyPath, int]
    first_line: int

    def build(self, node: Any, path: KeyPath) -> Any:
        self.lines.setdefault(path, node.start_mark.line + self.first_line)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(element, (*path, n)) for n, element in enumerate(node.value)]
        value = self.loader.construct_object(node)
        return _check_surrogates(value, node) if isinstance(value, str) else value

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line
            if not isinstance(key_node, yaml.ScalarNode):
                raise _YamlRefused("a key must be plain text", line, "Write the key as one word or a quoted string.")
            key = _check_surrogates(str(key_node.value), key_node)
            if key in result:
                first = self.lines[*path, key]
                raise _YamlRefused(f"duplicate key `{key}`", line, f"Keep one of them; the first is on line {first}.")
            self.lines[*path, key] = line + self.first_line
            result[key] = self.build(value_node, (*path, key))
        return result


def _check_surrogates(value: str, node: yaml.Node) -> str:
    """Refuse a lone surrogate, such as the escape "\\uD800", which UTF-8 cannot encode."""
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise _YamlRefused("a string contains a lone surrogate", node.start_mark.line, "Write the character itself.")
    return value
