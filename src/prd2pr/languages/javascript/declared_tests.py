"""Find the tests that a JavaScript file declares, with their ids, and the lines that use the project's code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from prd2pr.languages.base import DeclaredTestCase, ParsedTestFile
from prd2pr.languages.javascript.grammar import SYNTAX
from prd2pr.languages.javascript.imports import WHOLE_MODULE, ImportedName, read_imports
from prd2pr.languages.javascript.subject import find_subject_names, starts_program
from prd2pr.languages.javascript.test_calls import (
    DeclarationCall,
    map_runner_names,
    parse_test_call,
    read_first_parameter,
    read_title,
)
from prd2pr.languages.syntax.nodes import (
    find_first_error,
    get_field,
    get_last_line,
    get_line,
    get_text,
    join_tokens,
    read_comment_above,
)
from prd2pr.languages.syntax.queries import SyntaxFile
from prd2pr.languages.syntax.subject import list_subject_lines
from prd2pr.languages.syntax.test_rules import TestFunction
from prd2pr.languages.test_ids import make_test_id, normalize_title

if TYPE_CHECKING:
    from tree_sitter import Node

_HOLE = re.compile(r"\$\{[^}]*\}|%[sdifjoOp#%c]|\$\w+(?:\.\w+)*")


CallChain = tuple[DeclarationCall, ...]  # enclosing suites and tests


@dataclass(frozen=True)
class JavaScriptTest(TestFunction):
    call: DeclarationCall
    chain: CallChain


@lru_cache(maxsize=512)
def read_tests(path: str, text: str) -> ParsedTestFile:
    file, seen = SYNTAX.read(path, text), Counter[str]()
    own = {each.local: each for each in read_imports(file.root) if each.is_own}
    starts = {
        line for match in file.find("use") if starts_program(file, match["use"]) for line in _list_lines(match["use"])
    }
    hooks = {line for match in file.find("hook") for line in _list_lines(match["hook.call"])}
    return ParsedTestFile(
        tests=tuple(_make_declared(path, each, text.splitlines(), seen) for each in find_tests(file)),
        broken=find_first_error(file.root),
        subject_lines=tuple(sorted({*list_subject_lines(file, find_subject_names(file)), *starts})),
        called=tuple(sorted(set(_find_used_names(path, file, own)))),
        setup_lines=tuple(sorted(hooks)),
    )


def _list_lines(node: Node) -> range:
    return range(get_line(node), get_last_line(node) + 1)


def find_tests(file: SyntaxFile) -> Iterator[JavaScriptTest]:
    """Yield every test with its enclosing declarations, in text order."""
    names = map_runner_names(read_imports(file.root))
    pending: list[tuple[Node, CallChain, frozenset[str]]] = [(file.root, (), frozenset())]
    while pending:
        node, chain, contexts = pending.pop()
        call = parse_test_call(node, names, contexts)
        if call is not None:
            if call.kind == "test":
                titles = tuple(read_title(each.title)[0] for each in (*chain, call))
                yield JavaScriptTest(node, call.body, titles, call, chain)
                contexts |= {read_first_parameter(call.function)} - {""}
            chain = (*chain, call)
        pending += [(each, chain, contexts) for each in reversed(node.children)]


def _make_declared(path: str, test: JavaScriptTest, lines: list[str], seen: Counter[str]) -> DeclaredTestCase:
    call, chain = test.call, test.chain
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
    """Return a pattern that matches the titles that the run reports with the placeholders filled in."""
    return " > ".join(".*".join(re.escape(normalize_title(piece)) for piece in _HOLE.split(title)) for title in titles)


def _find_used_names(path: str, file: SyntaxFile, own: dict[str, ImportedName]) -> Iterator[str]:
    """Yield the dotted names of the project's code that the file uses, including members of imported modules."""
    for node in file.find_nodes("use.line"):
        if get_text(node) in own:
            imported = own[get_text(node)]
            yield imported.dotted(path)
            if imported.name == WHOLE_MODULE and node.parent is not None and node.parent.type == "member_expression":
                yield f"{imported.dotted(path)}.{get_text(get_field(node.parent, 'property'))}"
