"""Helpers for tree-sitter syntax trees."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from prd2pr.errors import SetupProblem

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser

MAX_BYTES = 2_000_000  # larger files are assumed to be generated and treated as empty
COMMENTS = frozenset({"comment", "line_comment", "block_comment", "html_comment", "hash_bang_line"})


@lru_cache(maxsize=256)
def parse_text(grammar: str, text: str) -> Node:
    """Parse the text and return the root node. Syntax errors become ERROR nodes."""
    data = text.encode("utf-8", "replace")
    return _get_parser(grammar).parse(data if len(data) <= MAX_BYTES else b"").root_node


@cache
def _get_parser(grammar: str) -> Parser:
    language = load_grammar(grammar)
    import tree_sitter

    return tree_sitter.Parser(language)


@cache
def load_grammar(name: str) -> Language:
    try:
        import tree_sitter

        return tree_sitter.Language(_import_grammar(name))
    except ImportError as missing:
        raise SetupProblem(
            f"{missing.name} is not installed; it is needed to parse this language",
            where=name,
            remedy="pip install 'prd2pr[languages]'",
        ) from None


def _import_grammar(name: str) -> object:
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
    """Yield the node and its descendants in text order."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending += reversed(current.children)


def get_text(node: Node | None) -> str:
    return node.text.decode("utf-8", "replace") if node is not None and node.text is not None else ""


def get_root(node: Node) -> Node:
    while node.parent is not None:
        node = node.parent
    return node


def get_line(node: Node) -> int:
    return int(node.start_point[0]) + 1


def get_last_line(node: Node) -> int:
    return int(node.end_point[0]) + 1


def list_children(node: Node | None, *kinds: str) -> list[Node]:
    named = node.named_children if node is not None else []
    return [each for each in named if each.type not in COMMENTS and (not kinds or each.type in kinds)]


def get_field(node: Node | None, name: str) -> Node | None:
    return node.child_by_field_name(name) if node is not None else None


def find_first_error(root: Node) -> int:
    """Return the line of the first syntax error, or 0 if there is none."""
    if not root.has_error:
        return 0
    return next((get_line(node) for node in walk(root) if node.is_error or node.is_missing), get_line(root))


def walk_leaves(node: Node) -> Iterator[Node]:
    """Yield the tokens below this node in text order, without comments."""
    pending = [node]
    while pending:
        current = pending.pop()
        if current.type in COMMENTS:
            continue
        if not current.children:
            yield current
        pending += reversed(current.children)


def join_tokens(node: Node) -> str:
    """Return the tokens below this node separated by spaces, without comments and layout."""
    return " ".join(map(get_text, walk_leaves(node)))


def read_comment_above(node: Node, lines: list[str]) -> str:
    """Return the comment directly above the node."""
    first = get_line(node) - 1
    while first > 0 and lines[first - 1].strip().startswith(("//", "/*", "*", "#")):
        first -= 1
    return "\n".join(lines[first : get_line(node) - 1])
