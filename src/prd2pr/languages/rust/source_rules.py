"""Checks of Rust source: code that detects tests or copies their values, and changed tests inside source files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.domain.evidence import Fact
from prd2pr.languages.base import SourceContext
from prd2pr.languages.rust.assertions import EQUAL, find_assertions
from prd2pr.languages.rust.files import SYNTAX, is_test_file
from prd2pr.languages.rust.functions import find_functions
from prd2pr.languages.rust.items import Item, find_items
from prd2pr.languages.syntax.literals import Example, find_literals, find_row_examples, read_value
from prd2pr.languages.syntax.nodes import get_field, get_text, join_tokens, list_children, walk
from prd2pr.languages.syntax.queries import Found, Names, SyntaxFile
from prd2pr.languages.syntax.source_rules import SourceChange, SourceRules

if TYPE_CHECKING:
    from tree_sitter import Node

_SHADOWS = frozenset({"assert", "assert_eq", "assert_ne", "panic", "matches", "debug_assert"})
_AT_START = re.compile(r"^ctor\b|link_section|^used\b|^(unsafe \( )?no_mangle")


def _read_names(path: str, _: SyntaxFile, __: SourceContext) -> Names:
    """Return the flags that queries test for a file.

    Only a program (`main.rs`, or a file in `bin/`) may read its arguments.
    """
    is_program = path.endswith("main.rs") or "/bin/" in f"/{path}"
    return {"flags": frozenset({"program"} if is_program else ())}


def _compare(change: SourceChange) -> Iterator[Fact]:
    path, context = change.path, change.context
    yield from _check_inner_tests(path, change.before.root, change.after.root)
    helps = path.startswith(tuple(context.for_tests)) and not _is_subject(path, context)
    if change.before.text and helps and join_tokens(change.before.root) != join_tokens(change.after.root):
        yield Fact(code="GRN413", path=path, message="changes a crate that is built only for tests")


def _is_subject(path: str, context: SourceContext) -> bool:
    """Return whether the story's tests are in the same crate, which makes the file code under test."""
    return any(test.startswith(each) for each in context.for_tests if path.startswith(each) for test in context.tests)


def _check_inner_tests(path: str, before: Node, after: Node) -> Iterator[Fact]:
    """Report changed tests inside a source file, which are locked like all other tests."""
    old, new = _find_test_items(before), _find_test_items(after)
    for name, words in old.items():
        if new.get(name) != words:
            what = "removes" if name not in new else "changes"
            yield Fact(code="GRN201", path=path, message=f"{what} `{name}`, which exists only for tests")
    for name in new.keys() - old.keys():
        yield Fact(code="GRN105", path=path, message=f"adds `{name}`, which exists only for tests")


def _find_test_items(root: Node) -> dict[str, str]:
    """Map the names of the outermost test-only items to their tokens."""
    found: dict[str, str] = {}
    inside: set[tuple[str, ...]] = set()
    for item in find_items(root):
        if item.in_tests and item.modules not in inside and item.node.type != "use_declaration":
            name = item.name or get_text(item.node).partition("{")[0].strip()[:60]
            if item.node.type == "mod_item":
                inside.add((*item.modules, item.name))
            if not any(item.modules[:end] in inside for end in range(1, len(item.modules) + 1)):
                found["::".join((*item.modules, name))] = " ".join((*item.attributes, join_tokens(item.node)))
    return found


# --- code that detects tests ------------------------------------------------------------------------------------------


def _find_more(_: str, file: SyntaxFile) -> Iterator[Found]:
    for item in find_items(file.root):
        if not item.in_tests:
            yield from _check_item(item)


def _check_item(item: Item) -> Iterator[Found]:
    for attribute in item.attributes:
        if re.search(r"\bnot \( test \)", attribute) or (attribute.startswith("cfg_attr") and " test" in attribute):
            yield "GRN401", f"compiles differently for tests: `#[{attribute.replace(' ', '')}]`", item.node
        elif _AT_START.search(attribute):
            yield "GRN404", f"`#[{attribute.replace(' ', '')}]` takes effect before the program starts", item.node
        elif attribute == "track_caller":
            yield "GRN403", "`#[track_caller]` reveals the caller to the code", item.node
    if item.node.type == "macro_definition" and item.name in _SHADOWS:
        yield "GRN407", f"redefines the macro `{item.name}!`", item.node
    if item.node.type == "foreign_mod_item" and re.search(r"\bfn (_?exit|abort|kill|dup2)\b", get_text(item.node)):
        yield "GRN404", "ends the process without Rust's cleanup", item.node
    if item.node.type == "function_item" and item.trait == "PartialEq" and item.name == "eq":
        yield from _check_equality(item)


def _check_equality(item: Item) -> Iterator[Found]:
    given = list_children(get_field(item.node, "parameters"))
    other = get_text(get_field(given[-1], "pattern")) if len(given) > 1 else ""
    body = get_field(item.node, "body")
    words = {get_text(node) for node in walk(body) if node.type == "identifier"} if body is not None else set()
    if other and other not in words:
        yield "GRN405", f"`{item.owner}` equals everything", item.node


def _find_examples(file: SyntaxFile) -> Iterator[Example]:
    """Yield the literal arguments of calls with the expected literal result."""
    literals = {node.id for node in file.find_nodes("literal")}
    for each in find_assertions(file.root, frozenset()):
        if each.form in EQUAL and len(each.compared) == 2:
            for subject, expected in (each.compared, each.compared[::-1]):
                wanted = [node for node in expected.literals if node.id in literals]
                if len(wanted) == 1 and "(" in subject.text:
                    given = (node for node in subject.literals if node.id in literals)
                    yield from ((read_value(node), read_value(wanted[0])) for node in given)
    yield from find_row_examples(file)


RULES = SourceRules(
    SYNTAX,
    lambda path: path.endswith(".rs") and not is_test_file(path),
    _read_names,
    _find_examples,
    find_literals,
    _find_more,
    _compare,
    list_programs=lambda file: [each.node for each in find_functions(file)],
)
