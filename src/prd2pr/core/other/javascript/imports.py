"""What a file imports, by `import`, `require` or `await import`."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.core.other.javascript.files import module_of
from prd2pr.core.other.syntax import children, line_of, part, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

EVERYTHING = "*"


@dataclass(frozen=True)
class Imported:
    local: str  # the name in this file
    name: str  # there; `default`, or `*` for the whole module
    source: str  # as it is written: ../src/points.js
    line: int

    @property
    def is_own(self) -> bool:
        return is_own(self.source)

    def dotted(self, path: str) -> str:
        """As designs name it: src.points.earn, or src.points for the module."""
        module = own_module(path, self.source)
        return module if self.name in {EVERYTHING, "default"} else f"{module}.{self.name}"


def is_own(source: str) -> bool:
    """Leads to a file of the project: relative, or by one of the usual aliases."""
    return source.startswith((".", "/", "@/", "~/", "#"))


def own_module(path: str, source: str) -> str:
    if source.startswith(("@/", "~/")):
        return module_of("src/" + source[2:])
    if source.startswith("#"):
        return module_of(source[1:].lstrip("/"))
    return module_of(posixpath.normpath(posixpath.join(posixpath.dirname(path), source)))


def imports_in(root: Node) -> Iterator[Imported]:
    for node in walk(root):
        if node.type == "import_statement":
            yield from _statement(node)
        elif node.type == "variable_declarator":
            source = _loaded(part(node, "value"))
            if source:
                yield from _bound(part(node, "name"), source)


def _statement(node: Node) -> Iterator[Imported]:
    source = string_of(part(node, "source"))
    for clause in children(node, "import_clause"):
        for each in children(clause):
            if each.type == "identifier":
                yield Imported(text_of(each), "default", source, line_of(node))
            elif each.type == "namespace_import":
                yield Imported(text_of(children(each)[-1]), EVERYTHING, source, line_of(node))
            elif each.type == "named_imports":
                for specifier in children(each, "import_specifier"):
                    name = text_of(part(specifier, "name"))
                    yield Imported(text_of(part(specifier, "alias")) or name, name, source, line_of(specifier))


def _loaded(value: Node | None) -> str:
    """The module of `require("x")`, `await import("x")` and what stands around these."""
    while value is not None and value.type in {"await_expression", "parenthesized_expression"}:
        inner = children(value)
        value = inner[0] if inner else None
    if value is None or value.type != "call_expression":
        return ""
    if text_of(part(value, "function")) not in {"require", "import"}:
        return ""
    given = children(part(value, "arguments"))
    return string_of(given[0]) if given else ""


def _bound(name: Node | None, source: str) -> Iterator[Imported]:
    if name is None:
        return
    if name.type == "identifier":
        yield Imported(text_of(name), EVERYTHING, source, line_of(name))
    for each in children(name) if name.type == "object_pattern" else ():
        if each.type == "shorthand_property_identifier_pattern":
            yield Imported(text_of(each), text_of(each), source, line_of(each))
        elif each.type == "pair_pattern":
            yield Imported(text_of(part(each, "value")), text_of(part(each, "key")), source, line_of(each))


def string_of(node: Node | None) -> str:
    """The value of a plain string; empty for anything else."""
    if node is None or node.type != "string":
        return ""
    return "".join(_unescaped(each) for each in node.named_children)


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def _unescaped(node: Node) -> str:
    text = text_of(node)
    return _ESCAPES.get(text[1:], text[1:]) if node.type == "escape_sequence" else text
