"""Checks of Go source in addition to the query `source.scm`: changed test helpers, embedded tests, copied values."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from prd2pr.domain.evidence import Fact
from prd2pr.languages.base import SourceContext
from prd2pr.languages.golang.assertions import find_assertion_names, find_assertions, find_comparisons
from prd2pr.languages.golang.files import SYNTAX, is_test_file, read_package_name
from prd2pr.languages.golang.functions import find_functions
from prd2pr.languages.syntax.literals import Example, find_call_examples, find_literals, find_row_examples
from prd2pr.languages.syntax.nodes import get_field, get_line, get_text, join_tokens, list_children, walk
from prd2pr.languages.syntax.queries import Names, SyntaxFile
from prd2pr.languages.syntax.source_rules import SourceChange, SourceRules

if TYPE_CHECKING:
    from tree_sitter import Node

_CONTEXT = re.compile(r"\btesting\.(T|TB|F|B)\b")


def _read_names(_: str, file: SyntaxFile, __: SourceContext) -> Names:
    package = read_package_name(file.root)
    flags = {"main" if package == "main" else "", "test-helper" if "test" in package else ""}
    return {"flags": frozenset(flags)}


def _compare(change: SourceChange) -> Iterator[Fact]:
    home = posixpath.dirname(change.path)
    if not any(posixpath.dirname(test) == home for test in change.context.tests):  # else it is the code under test
        yield from _check_helpers(change)
    yield from _check_embeds(change)


def _check_helpers(change: SourceChange) -> Iterator[Fact]:
    """Report changed functions that take a `*testing.T`.

    They are test helpers with assertions and are locked like tests.
    """
    now = {each.name: join_tokens(each.node) for each in find_functions(change.after)}
    for each in find_functions(change.before):
        given = get_field(each.node, "parameters")
        if given is not None and _CONTEXT.search(get_text(given)) and now.get(each.name) != join_tokens(each.node):
            message = f"changes `{each.name}`, which asserts for tests"
            yield Fact(code="GRN413", path=change.path, line=get_line(each.node), message=message)


def _check_embeds(change: SourceChange) -> Iterator[Fact]:
    """Report `//go:embed` of test files, because these contain the expected values."""
    home = posixpath.dirname(change.path)
    test_names = [posixpath.relpath(test, home or ".") for test in change.context.tests]
    for node in walk(change.after.root):
        text = get_text(node) if node.type == "comment" else ""
        for pattern in text.split()[1:] if text.startswith("//go:embed ") else ():
            plain = pattern.strip('"`').removeprefix("all:")
            taken = [name for name in test_names if _embeds(plain, name)]
            if taken:
                message = f"`{text[:60]}` embeds the test file {taken[0]}"
                yield Fact(code="GRN411", path=change.path, line=get_line(node), message=message)


def _embeds(pattern: str, name: str) -> bool:
    parents = [name.rsplit("/", depth)[0] for depth in range(name.count("/") + 1)]
    return pattern == "." or any(fnmatchcase(each, pattern) for each in parents)


def _find_examples(file: SyntaxFile) -> Iterator[Example]:
    """Yield the literal arguments of calls with the expected literal result, also through `got := Earn(200)`."""
    literals = {node.id for node in file.find_nodes("literal")}
    bound = [(match["short.name"], list_children(match["short.value"])) for match in file.find("short.value")]
    for each in find_assertions(file.root, find_assertion_names(file.root)):
        for _, left, right in find_comparisons(each.condition):
            for subject, expected in ((left, right), (right, left)):
                if expected.id in literals:
                    values = [value[0] for name, value in bound if value and _binds(name, value[0], subject)]
                    yield from find_call_examples(file, values[-1:] or [subject], expected)
    yield from find_row_examples(file)


def _binds(names: Node, value: Node, subject: Node) -> bool:
    """Return whether the first of these names is the subject and was bound before."""
    return get_text(list_children(names)[0]) == get_text(subject) and value.end_byte <= subject.start_byte


RULES = SourceRules(
    SYNTAX,
    lambda path: path.endswith(".go") and not is_test_file(path),
    _read_names,
    compare=_compare,
    find_examples=_find_examples,
    find_expected=find_literals,
)
