"""Syntax trees by tree-sitter: the little that the descriptions of languages need of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from prd2pr.errors import SetupProblem

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MOST_BYTES = 2_000_000  # of a larger file nothing is read: it was made by a program
COMMENTS = frozenset({"comment", "line_comment", "block_comment", "html_comment", "hash_bang_line"})


@lru_cache(maxsize=256)
def parsed(grammar: str, text: str) -> Node:
    """The root. A file that is wrong somewhere has nodes of type ERROR there, and is read all the same."""
    data = text.encode("utf-8", "replace")
    return _parser(grammar).parse(data if len(data) <= MOST_BYTES else b"").root_node


@cache
def _parser(grammar: str) -> Parser:
    try:
        import tree_sitter

        return tree_sitter.Parser(tree_sitter.Language(_grammar(grammar)))
    except ImportError as missing:
        raise SetupProblem(
            f"{missing.name} is not installed, and a project in this language cannot be read without it",
            where=grammar,
            remedy="pip install 'prd2pr[languages]'",
        ) from None


def _grammar(name: str) -> object:
    if name == "javascript":
        import tree_sitter_javascript

        return tree_sitter_javascript.language()
    if name in {"typescript", "tsx"}:
        import tree_sitter_typescript

        return tree_sitter_typescript.language_tsx() if name == "tsx" else tree_sitter_typescript.language_typescript()
    if name == "go":
        import tree_sitter_go

        return tree_sitter_go.language()
    import tree_sitter_rust

    return tree_sitter_rust.language()


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, in the order of the text."""
    waiting = [node]
    while waiting:
        here = waiting.pop()
        yield here
        waiting += reversed(here.children)


def text_of(node: Node | None) -> str:
    return node.text.decode("utf-8", "replace") if node is not None and node.text is not None else ""


def line_of(node: Node) -> int:
    return int(node.start_point[0]) + 1


def last_line(node: Node) -> int:
    return int(node.end_point[0]) + 1


def children(node: Node | None, *kinds: str) -> list[Node]:
    named = node.named_children if node is not None else []
    return [each for each in named if each.type not in COMMENTS and (not kinds or each.type in kinds)]


def part(node: Node | None, name: str) -> Node | None:
    return node.child_by_field_name(name) if node is not None else None


def first_error(root: Node) -> int:
    """Line of the first place that cannot be read; 0 where all can."""
    if not root.has_error:
        return 0
    return next((line_of(node) for node in walk(root) if node.is_error or node.is_missing), line_of(root))


def leaves(node: Node) -> Iterator[Node]:
    """The words of the program below this node, in the order of the text; what comments are made of is none."""
    waiting = [node]
    while waiting:
        here = waiting.pop()
        if here.type in COMMENTS:
            continue
        if not here.children:
            yield here
        waiting += reversed(here.children)


def tokens(node: Node) -> str:
    """All words of the program below this node, one blank between them: no comments, no layout."""
    return " ".join(map(text_of, leaves(node)))


def above(node: Node, lines: list[str]) -> str:
    """The comment that stands right above."""
    first = line_of(node) - 1
    while first > 0 and lines[first - 1].strip().startswith(("//", "/*", "*", "#")):
        first -= 1
    return "\n".join(lines[first : line_of(node) - 1])
