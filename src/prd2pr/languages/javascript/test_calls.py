"""Parse calls that declare tests and suites, such as `test`, `it.only`, `describe.each([…])` and `t.test`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from prd2pr.languages.javascript.imports import ImportedName, read_string
from prd2pr.languages.syntax.nodes import get_field, get_text, list_children

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
class DeclarationCall:
    """A declaration of a test or suite."""

    node: Node
    kind: Kind
    marks: tuple[str, ...]  # skip, only, todo, each, failing …
    title: Node | None
    options: Node | None
    function: Node | None
    table: Node | None  # argument of `each`

    @property
    def body(self) -> Node | None:
        return get_field(self.function, "body")


def map_runner_names(imports: Iterator[ImportedName]) -> dict[str, str]:
    """Map local names to a runner's functions.

    If the whole module `node:test` is imported, its name counts as `test`.
    """
    return {each.local: _get_runner_name(each) for each in imports if each.source in RUNNERS}


def _get_runner_name(imported: ImportedName) -> str:
    whole = imported.name == "default" or (imported.name == "*" and imported.source in {"node:test", "test"})
    return "test" if whole else imported.name


def parse_test_call(
    node: Node, names: Mapping[str, str], contexts: frozenset[str] = frozenset()
) -> DeclarationCall | None:
    """Parse a declaration. `contexts` are the parameters of enclosing tests, which declare subtests."""
    if node.type != "call_expression":
        return None
    callee, table = get_field(node, "function"), None
    given = get_field(node, "arguments")
    if callee is not None and callee.type == "call_expression":
        table, callee = get_field(callee, "arguments"), get_field(callee, "function")
    words = _split_callee(callee)
    if not words:
        return None
    first, *rest = words
    kind, marks = _NAMES.get(names.get(first, first), (None, ()))
    if kind is None and first in contexts and rest[:1] == ["test"]:
        kind, rest = "test", rest[1:]
    if kind is None:
        return None
    if table is None and ("each" in rest or "for" in rest):
        return None  # this is the inner call of `test.each(table)(title, …)`
    if given is not None and given.type == "template_string":
        return None  # for `test.each` with a template table, the outer call declares the test
    return _make_call(node, kind, (*marks, *rest), given, table)


def _make_call(
    node: Node, kind: Kind, marks: tuple[str, ...], given: Node | None, table: Node | None
) -> DeclarationCall | None:
    arguments = list_children(given)
    functions = [each for each in arguments if each.type in FUNCTIONS]
    if not arguments or (not functions and not marks and arguments[0].type not in {"string", "template_string"}):
        return None
    titles = [arguments[0]] if arguments[0].type not in {*FUNCTIONS, "object"} else []
    options = next((each for each in arguments if each.type == "object"), None)
    named = [each for each in arguments[1:] if each.type in {"identifier", "call_expression"}] if not functions else []
    function = functions[-1] if functions else (named[-1] if named else None)
    return DeclarationCall(
        node, kind, marks, titles[0] if titles else get_field(function, "name"), options, function, table
    )


def _split_callee(callee: Node | None) -> list[str]:
    """Split `test.concurrent.each` into words."""
    if callee is None:
        return []
    if callee.type == "identifier":
        return [get_text(callee)]
    if callee.type != "member_expression":
        return []
    inner = _split_callee(get_field(callee, "object"))
    return [*inner, get_text(get_field(callee, "property"))] if inner else []


def read_first_parameter(function: Node | None) -> str:
    if function is None:
        return ""
    alone = get_field(function, "parameter")
    named = list_children(get_field(function, "parameters"))
    found = alone or (named[0] if named else None)
    if found is not None and found.type == "required_parameter":
        found = get_field(found, "pattern")
    return get_text(found) if found is not None and found.type == "identifier" else ""


def read_title(node: Node | None) -> tuple[str, bool]:
    """Return the title, and whether it has placeholders that are filled in at run time."""
    if node is None:
        return "<anonymous>", False
    if node.type == "string":
        return read_string(node), False
    if node.type in {"identifier", "property_identifier"} and node.parent and node.parent.type in FUNCTIONS:
        return get_text(node), False
    if node.type == "template_string":
        return get_text(node)[1:-1], any(each.type == "template_substitution" for each in node.named_children)
    return f"${{{get_text(node)}}}", True
