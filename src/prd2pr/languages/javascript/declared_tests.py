"""Find the tests that a file declares, with their ids, and the lines that use the project's code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from prd2pr.languages.base import DeclaredTestCase, ParsedTestFile
from prd2pr.languages.javascript.files import select_grammar
from prd2pr.languages.javascript.imports import WHOLE_MODULE, ImportedName, read_imports
from prd2pr.languages.javascript.subject import find_subject_names, starts_program
from prd2pr.languages.javascript.test_calls import (
    DeclarationCall,
    map_runner_names,
    parse_test_call,
    read_first_parameter,
    read_title,
)
from prd2pr.languages.syntax import (
    find_first_error,
    get_field,
    get_last_line,
    get_line,
    get_text,
    join_tokens,
    parse_text,
    read_comment_above,
    walk,
)
from prd2pr.languages.test_ids import make_test_id, normalize_title

if TYPE_CHECKING:
    from tree_sitter import Node

_HOOKS = frozenset({"before", "beforeEach", "beforeAll", "after", "afterEach", "afterAll"})
_HOLE = re.compile(r"\$\{[^}]*\}|%[sdifjoOp#%c]|\$\w+(?:\.\w+)*")


@lru_cache(maxsize=512)
def read_tests(path: str, text: str) -> ParsedTestFile:
    root = parse_text(select_grammar(path), text)
    imports = tuple(read_imports(root))
    own = {each.local: each for each in imports if each.is_own}
    subject = find_subject_names(root)
    lines = text.splitlines()
    found, seen = [], Counter[str]()
    for call, chain in find_test_calls(root):
        if call.kind == "test":
            found.append(_make_declared(path, call, chain, lines, seen))
    return ParsedTestFile(
        tests=tuple(found),
        broken=find_first_error(root),
        subject_lines=tuple(sorted(set(_find_subject_lines(root, subject)))),
        called=tuple(sorted(set(_find_used_names(path, root, own)))),
        setup_lines=tuple(sorted(set(_find_setup_lines(root)))),
    )


CallChain = tuple[DeclarationCall, ...]  # the enclosing suites and tests


def find_test_calls(root: Node) -> Iterator[tuple[DeclarationCall, CallChain]]:
    """Yield every declaration with its enclosing ones, in text order."""
    names = map_runner_names(read_imports(root))
    pending: list[tuple[Node, CallChain, frozenset[str]]] = [(root, (), frozenset())]
    while pending:
        node, chain, contexts = pending.pop()
        call = parse_test_call(node, names, contexts)
        if call is not None:
            yield call, chain
            chain = (*chain, call)
            if call.kind == "test":
                contexts |= {read_first_parameter(call.function)} - {""}
        pending += [(each, chain, contexts) for each in reversed(node.children)]


def _make_declared(
    path: str, call: DeclarationCall, chain: CallChain, lines: list[str], seen: Counter[str]
) -> DeclaredTestCase:
    parts = [read_title(each.title) for each in (*chain, call)]
    holed = any(hole for _, hole in parts) or any(each.table is not None for each in (*chain, call))
    name = make_test_id(path, (title for title, _ in parts))
    seen[name] += 1
    number = f" #{seen[name]}" if seen[name] > 1 else ""
    parts_described = [
        *(read_comment_above(each.node, lines) for each in (*chain, call)),
        *(title for title, _ in parts),
        get_text(call.node),
    ]
    return DeclaredTestCase(
        id=name + number,
        line=get_line(call.node),
        last=get_last_line(call.node),
        body=" ".join([join_tokens(call.node), *(join_tokens(each.table) for each in chain if each.table is not None)]),
        described="\n".join(parts_described),
        pattern=_make_pattern(title for title, _ in parts) if holed else "",
    )


def _make_pattern(titles: Iterator[str]) -> str:
    """Return a pattern for the titles that the run reports, with the placeholders filled."""
    return " > ".join(".*".join(re.escape(normalize_title(piece)) for piece in _HOLE.split(title)) for title in titles)


def _find_subject_lines(root: Node, own: frozenset[str]) -> Iterator[int]:
    """Yield lines that call, construct or access the project's code or its results."""
    for node in walk(root):
        if node.type in {"call_expression", "new_expression"}:
            callee = get_field(node, "function") or get_field(node, "constructor")
            names = {get_text(each) for each in walk(callee) if each.type == "identifier"} if callee else set()
            if names & own or starts_program(node):
                yield from range(get_line(node), get_last_line(node) + 1)
        elif node.type == "identifier" and get_text(node) in own and not _is_in_import(node):
            yield get_line(node)


def _find_setup_lines(root: Node) -> Iterator[int]:
    for node in walk(root):
        if node.type == "call_expression" and get_text(get_field(node, "function")) in _HOOKS:
            yield from range(get_line(node), get_last_line(node) + 1)


def _is_in_import(node: Node) -> bool:
    parent = node.parent
    while parent is not None and parent.type != "program":
        if parent.type == "import_statement":
            return True
        parent = parent.parent
    return False


def _find_used_names(path: str, root: Node, own: dict[str, ImportedName]) -> Iterator[str]:
    """Yield dotted names of the project's code that the file uses, including members of whole modules."""
    for node in walk(root):
        if node.type == "identifier" and get_text(node) in own and not _is_in_import(node):
            imported = own[get_text(node)]
            yield imported.dotted(path)
            parent = node.parent
            if imported.name == WHOLE_MODULE and parent is not None and parent.type == "member_expression":
                yield f"{imported.dotted(path)}.{get_text(get_field(parent, 'property'))}"
