"""Which tests a file declares, under which ids, and which lines of it work on the project's own code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from prd2pr.core.other.ids import named, plain
from prd2pr.core.other.javascript.calls import Call, call_of, first_parameter, renamed, title_of
from prd2pr.core.other.javascript.files import grammar_of
from prd2pr.core.other.javascript.imports import EVERYTHING, Imported, imports_in
from prd2pr.core.other.javascript.subject import starts_program, subject_names
from prd2pr.core.other.language import Declared, TestFile
from prd2pr.core.other.syntax import above, first_error, last_line, line_of, parsed, part, text_of, tokens, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_HOOKS = frozenset({"before", "beforeEach", "beforeAll", "after", "afterEach", "afterAll"})
_HOLE = re.compile(r"\$\{[^}]*\}|%[sdifjoOp#%c]|\$\w+(?:\.\w+)*")


@lru_cache(maxsize=512)
def read_tests(path: str, text: str) -> TestFile:
    root = parsed(grammar_of(path), text)
    imports = tuple(imports_in(root))
    own = {each.local: each for each in imports if each.is_own}
    subject = subject_names(root)
    lines = text.splitlines()
    found, seen = [], Counter[str]()
    for call, chain in calls_in(root):
        if call.kind == "test":
            found.append(_declared(path, call, chain, lines, seen))
    return TestFile(
        tests=tuple(found),
        broken=first_error(root),
        subject_lines=tuple(sorted(set(_subject_lines(root, subject)))),
        called=tuple(sorted(set(_called(path, root, own)))),
        setup_lines=tuple(sorted(set(_setup_lines(root)))),
    )


Chain = tuple[Call, ...]  # the suites and tests around a declaration


def calls_in(root: Node) -> Iterator[tuple[Call, Chain]]:
    """Every declaration with those around it, in the order of the text."""
    names = renamed(imports_in(root))
    waiting: list[tuple[Node, Chain, frozenset[str]]] = [(root, (), frozenset())]
    while waiting:
        node, chain, contexts = waiting.pop()
        call = call_of(node, names, contexts)
        if call is not None:
            yield call, chain
            chain = (*chain, call)
            if call.kind == "test":
                contexts |= {first_parameter(call.function)} - {""}
        waiting += [(each, chain, contexts) for each in reversed(node.children)]


def _declared(path: str, call: Call, chain: Chain, lines: list[str], seen: Counter[str]) -> Declared:
    parts = [title_of(each.title) for each in (*chain, call)]
    holed = any(hole for _, hole in parts) or any(each.table is not None for each in (*chain, call))
    name = named(path, (title for title, _ in parts))
    seen[name] += 1
    number = f" #{seen[name]}" if seen[name] > 1 else ""
    said = [*(above(each.node, lines) for each in (*chain, call)), *(title for title, _ in parts), text_of(call.node)]
    return Declared(
        id=name + number,
        line=line_of(call.node),
        last=last_line(call.node),
        body=" ".join([tokens(call.node), *(tokens(each.table) for each in chain if each.table is not None)]),
        said="\n".join(said),
        pattern=_pattern(title for title, _ in parts) if holed else "",
    )


def _pattern(titles: Iterator[str]) -> str:
    """Matches what the run will call such a test, once its holes are filled."""
    return " > ".join(".*".join(re.escape(plain(piece)) for piece in _HOLE.split(title)) for title in titles)


def _subject_lines(root: Node, own: frozenset[str]) -> Iterator[int]:
    """Lines on which something of the project, or what came of it, is called, made, or asked for a property."""
    for node in walk(root):
        if node.type in {"call_expression", "new_expression"}:
            callee = part(node, "function") or part(node, "constructor")
            names = {text_of(each) for each in walk(callee) if each.type == "identifier"} if callee else set()
            if names & own or starts_program(node):
                yield from range(line_of(node), last_line(node) + 1)
        elif node.type == "identifier" and text_of(node) in own and not _in_import(node):
            yield line_of(node)


def _setup_lines(root: Node) -> Iterator[int]:
    for node in walk(root):
        if node.type == "call_expression" and text_of(part(node, "function")) in _HOOKS:
            yield from range(line_of(node), last_line(node) + 1)


def _in_import(node: Node) -> bool:
    parent = node.parent
    while parent is not None and parent.type != "program":
        if parent.type == "import_statement":
            return True
        parent = parent.parent
    return False


def _called(path: str, root: Node, own: dict[str, Imported]) -> Iterator[str]:
    """Dotted names of the project's code that the file uses, members of whole modules too."""
    for node in walk(root):
        if node.type == "identifier" and text_of(node) in own and not _in_import(node):
            imported = own[text_of(node)]
            yield imported.dotted(path)
            parent = node.parent
            if imported.name == EVERYTHING and parent is not None and parent.type == "member_expression":
                yield f"{imported.dotted(path)}.{text_of(part(parent, 'property'))}"
