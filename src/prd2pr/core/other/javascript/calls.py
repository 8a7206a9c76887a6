"""Calls that declare tests and suites: `test`, `it.only`, `describe.each([…])`, `t.test`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from prd2pr.core.other.javascript.imports import Imported, string_of
from prd2pr.core.other.syntax import children, part, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

Kind = Literal["test", "suite"]
RUNNERS = frozenset({"node:test", "test", "vitest", "@jest/globals", "bun:test"})
FUNCTIONS = frozenset({"arrow_function", "function_expression", "function_declaration", "generator_function"})
_NAMES: dict[str, tuple[Kind, tuple[str, ...]]] = {
    "test": ("test", ()),
    "it": ("test", ()),
    "describe": ("suite", ()),
    "suite": ("suite", ()),
    "xit": ("test", ("skip",)),
    "xtest": ("test", ("skip",)),
    "fit": ("test", ("only",)),
    "xdescribe": ("suite", ("skip",)),
    "fdescribe": ("suite", ("only",)),
}


@dataclass(frozen=True)
class Call:
    """One declaration of a test or suite."""

    node: Node
    kind: Kind
    marks: tuple[str, ...]  # skip, only, todo, each, failing …
    title: Node | None
    options: Node | None
    function: Node | None
    table: Node | None  # of `each`

    @property
    def body(self) -> Node | None:
        return part(self.function, "body")


def renamed(imports: Iterator[Imported]) -> dict[str, str]:
    """Local names of what is imported from a runner; node:test as a whole is `test`, however it is loaded."""
    return {each.local: _there(each) for each in imports if each.source in RUNNERS}


def _there(imported: Imported) -> str:
    whole = imported.name == "default" or (imported.name == "*" and imported.source in {"node:test", "test"})
    return "test" if whole else imported.name


def call_of(node: Node, names: Mapping[str, str], contexts: frozenset[str] = frozenset()) -> Call | None:
    """`contexts`: parameters of tests around it, by which subtests are declared."""
    if node.type != "call_expression":
        return None
    callee, table = part(node, "function"), None
    given = part(node, "arguments")
    if callee is not None and callee.type == "call_expression":
        table, callee = part(callee, "arguments"), part(callee, "function")
    words = _words(callee)
    if not words:
        return None
    first, *rest = words
    kind, marks = _NAMES.get(names.get(first, first), (None, ()))
    if kind is None and first in contexts and rest[:1] == ["test"]:
        kind, rest = "test", rest[1:]
    if kind is None:
        return None
    if table is None and ("each" in rest or "for" in rest):
        return None  # the inner half of `test.each(table)(title, …)`
    if given is not None and given.type == "template_string":
        return None  # `test.each` with a table in a template: the call around it is the declaration
    return _declared(node, kind, (*marks, *rest), given, table)


def _declared(node: Node, kind: Kind, marks: tuple[str, ...], given: Node | None, table: Node | None) -> Call | None:
    arguments = children(given)
    functions = [each for each in arguments if each.type in FUNCTIONS]
    if not arguments or (not functions and not marks and arguments[0].type not in {"string", "template_string"}):
        return None
    titles = [arguments[0]] if arguments[0].type not in {*FUNCTIONS, "object"} else []
    options = next((each for each in arguments if each.type == "object"), None)
    named = [each for each in arguments[1:] if each.type in {"identifier", "call_expression"}] if not functions else []
    function = functions[-1] if functions else (named[-1] if named else None)
    return Call(node, kind, marks, titles[0] if titles else part(function, "name"), options, function, table)


def _words(callee: Node | None) -> list[str]:
    """`test.concurrent.each` as its words."""
    if callee is None:
        return []
    if callee.type == "identifier":
        return [text_of(callee)]
    if callee.type != "member_expression":
        return []
    inner = _words(part(callee, "object"))
    return [*inner, text_of(part(callee, "property"))] if inner else []


def first_parameter(function: Node | None) -> str:
    if function is None:
        return ""
    alone = part(function, "parameter")
    named = children(part(function, "parameters"))
    found = alone or (named[0] if named else None)
    if found is not None and found.type == "required_parameter":
        found = part(found, "pattern")
    return text_of(found) if found is not None and found.type == "identifier" else ""


def title_of(node: Node | None) -> tuple[str, bool]:
    """The title, and whether it has holes that only the run fills."""
    if node is None:
        return "<anonymous>", False
    if node.type == "string":
        return string_of(node), False
    if node.type in {"identifier", "property_identifier"} and node.parent and node.parent.type in FUNCTIONS:
        return text_of(node), False
    if node.type == "template_string":
        return text_of(node)[1:-1], any(each.type == "template_substitution" for each in node.named_children)
    return f"${{{text_of(node)}}}", True
