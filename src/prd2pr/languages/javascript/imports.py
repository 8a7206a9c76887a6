"""Imports of a JavaScript file through `import`, `require` or `await import`."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.languages.javascript.files import name_module
from prd2pr.languages.syntax.nodes import get_field, get_line, get_text, list_children, walk

if TYPE_CHECKING:
    from tree_sitter import Node

WHOLE_MODULE = "*"


@dataclass(frozen=True)
class ImportedName:
    local: str  # name in this file
    name: str  # name in the module, `default`, or `*` for the whole module
    source: str  # as written, such as ../src/points.js
    line: int

    @property
    def is_own(self) -> bool:
        return is_own_source(self.source)

    def dotted(self, path: str) -> str:
        """Return the name as written in designs: `src.points.earn`, or `src.points` for the whole module."""
        module = resolve_own_module(path, self.source)
        return module if self.name in {WHOLE_MODULE, "default"} else f"{module}.{self.name}"


def is_own_source(source: str) -> bool:
    """Return whether the source is a file of the project, given as a relative path or through a common alias."""
    return source.startswith((".", "/", "@/", "~/", "#"))


def resolve_own_module(path: str, source: str) -> str:
    if source.startswith(("@/", "~/")):
        return name_module("src/" + source[2:])
    if source.startswith("#"):
        return name_module(source[1:].lstrip("/"))
    return name_module(posixpath.normpath(posixpath.join(posixpath.dirname(path), source)))


def read_imports(root: Node) -> Iterator[ImportedName]:
    for node in walk(root):
        if node.type == "import_statement":
            yield from _read_statement(node)
        elif node.type == "variable_declarator":
            source = _read_loaded_module(get_field(node, "value"))
            if source:
                yield from _read_bound_names(get_field(node, "name"), source)


def _read_statement(node: Node) -> Iterator[ImportedName]:
    source = read_string(get_field(node, "source"))
    for clause in list_children(node, "import_clause"):
        for each in list_children(clause):
            if each.type == "identifier":
                yield ImportedName(get_text(each), "default", source, get_line(node))
            elif each.type == "namespace_import":
                yield ImportedName(get_text(list_children(each)[-1]), WHOLE_MODULE, source, get_line(node))
            elif each.type == "named_imports":
                for specifier in list_children(each, "import_specifier"):
                    name = get_text(get_field(specifier, "name"))
                    yield ImportedName(
                        get_text(get_field(specifier, "alias")) or name, name, source, get_line(specifier)
                    )


def _read_loaded_module(value: Node | None) -> str:
    """Return the module of `require("x")` or `await import("x")`, with or without parentheses."""
    while value is not None and value.type in {"await_expression", "parenthesized_expression"}:
        inner = list_children(value)
        value = inner[0] if inner else None
    if value is None or value.type != "call_expression":
        return ""
    if get_text(get_field(value, "function")) not in {"require", "import"}:
        return ""
    given = list_children(get_field(value, "arguments"))
    return read_string(given[0]) if given else ""


def _read_bound_names(name: Node | None, source: str) -> Iterator[ImportedName]:
    if name is None:
        return
    if name.type == "identifier":
        yield ImportedName(get_text(name), WHOLE_MODULE, source, get_line(name))
    for each in list_children(name) if name.type == "object_pattern" else ():
        if each.type == "shorthand_property_identifier_pattern":
            yield ImportedName(get_text(each), get_text(each), source, get_line(each))
        elif each.type == "pair_pattern":
            yield ImportedName(
                get_text(get_field(each, "value")), get_text(get_field(each, "key")), source, get_line(each)
            )


def read_string(node: Node | None) -> str:
    """Return the value of a plain string, or an empty string for anything else."""
    if node is None or node.type != "string":
        return ""
    return "".join(_unescape(each) for each in node.named_children)


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def _unescape(node: Node) -> str:
    text = get_text(node)
    return _ESCAPES.get(text[1:], text[1:]) if node.type == "escape_sequence" else text
