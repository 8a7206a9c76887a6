"""Find the tests that a Go file declares, with their ids: test functions and subtests started with `t.Run`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from prd2pr.languages.base import DeclaredTestCase, ParsedTestFile
from prd2pr.languages.golang.files import SYNTAX, read_package_name
from prd2pr.languages.golang.imports import find_local_names, guess_package_name, read_imports
from prd2pr.languages.golang.subject import find_foreign_names, find_subject_names
from prd2pr.languages.syntax.nodes import (
    find_first_error,
    get_field,
    get_text,
    join_tokens,
    list_children,
)
from prd2pr.languages.syntax.queries import SyntaxFile, ancestors
from prd2pr.languages.syntax.subject import list_subject_lines
from prd2pr.languages.syntax.test_rules import HOLE, TestFunction, make_declared_test

if TYPE_CHECKING:
    from tree_sitter import Node

_OUTPUT = re.compile(r"//\s*(unordered )?output:", re.IGNORECASE)


@dataclass(frozen=True)
class GoTest(TestFunction):
    """A test function, or the `Run` call of a subtest. HOLE stands for titles that are known only at run time."""

    context: str = ""  # name of its *testing.T


@lru_cache(maxsize=512)
def read_tests(path: str, text: str) -> ParsedTestFile:
    file = SYNTAX.read(path, text)
    lines, names = text.splitlines(), find_subject_names(file)
    return ParsedTestFile(
        tests=tuple(dict.fromkeys(_make_declared(path, each, lines) for each in find_tests(file))),
        broken=find_first_error(file.root),
        subject_lines=list_subject_lines(file, names),
        called=tuple(sorted(set(_find_used_names(file, names)))),
    )


def find_tests(file: SyntaxFile) -> Iterator[GoTest]:
    """Yield the tests in text order, each before its subtests."""
    testing = find_local_names(file.root, "testing") or frozenset({"testing"})
    for node in list_children(file.root, "function_declaration"):
        name, body = get_text(get_field(node, "name")), get_field(node, "body")
        if is_test_function(node, testing):
            yield from _walk_subtests(GoTest(node, body, (name,), read_context_name(node)))
        elif name.startswith("Example") and _OUTPUT.search(get_text(body)):
            yield GoTest(node, body, (name,), "")


def is_test_function(node: Node, testing: frozenset[str]) -> bool:
    """Return whether this is a test by its name and parameter. `Testearn` counts, although Go ignores it."""
    name = get_text(get_field(node, "name"))
    parameters = list_children(get_field(node, "parameters"))
    kind = join_tokens(parameters[0]).rpartition(" ")[0] + join_tokens(parameters[0]) if len(parameters) == 1 else ""
    wanted = [f"{each} . {letter}" for each in testing for letter in "TF"]
    return name.startswith(("Test", "Fuzz")) and any(each in kind for each in wanted)


def read_context_name(node: Node) -> str:
    parameters = list_children(get_field(node, "parameters"))
    return get_text(get_field(parameters[0], "name")) if parameters else ""


def _walk_subtests(test: GoTest) -> Iterator[GoTest]:
    yield test
    if test.body is not None:
        for call in _find_run_calls(test.body, test.context):
            title, function = _split_arguments(call)
            if function is None:
                yield GoTest(call, None, (*test.titles, *_read_titles(title)), "")
            else:
                inner = GoTest(
                    call, get_field(function, "body"), (*test.titles, *_read_titles(title)), read_context_name(function)
                )
                yield from _walk_subtests(inner)


def _find_run_calls(body: Node, context: str) -> Iterator[Node]:
    """Yield the outermost calls of `t.Run`."""
    pending = [body]
    while pending:
        node = pending.pop(0)
        callee = get_field(node, "function") if node.type == "call_expression" else None
        if (
            callee is not None
            and get_text(callee) == f"{context}.Run"
            and len(list_children(get_field(node, "arguments"))) == 2
        ):
            yield node
        else:
            pending = [*node.children, *pending]


def _split_arguments(call: Node) -> tuple[Node, Node | None]:
    title, function = list_children(get_field(call, "arguments"))
    return title, function if function.type == "func_literal" else None


def _read_titles(node: Node) -> tuple[str, ...]:
    if node.type in {"interpreted_string_literal", "raw_string_literal"}:
        return tuple(rewrite_title(get_text(node)[1:-1]).split("/"))
    return (HOLE,)


def rewrite_title(title: str) -> str:
    """Return the title in the form in which Go reports a subtest."""
    return re.sub(r"\s", "_", title)


def _make_declared(path: str, test: GoTest, lines: list[str]) -> DeclaredTestCase:
    top = [test.node, *ancestors(test.node)][-2]
    return make_declared_test(path, test, join_tokens(test.body or test.node), lines, top)


def _find_used_names(file: SyntaxFile, names: frozenset[str]) -> Iterator[str]:
    """Yield the names that the file uses, such as `shop.Earn`, or `.Add` for a method of the project's objects."""
    packages = {each.local: guess_package_name(each.path) for each in read_imports(file.root) if each.is_own}
    package = read_package_name(file.root)
    yield from (f"{package}.{name}" for name in find_foreign_names(file))
    for node in file.find_nodes("member"):
        parts = list_children(node)
        first, last = get_text(parts[0]), get_text(parts[-1])
        if first in packages:
            yield f"{packages[first]}.{last}"
        elif SYNTAX.mentions(parts[0], names):
            yield f".{last}"
