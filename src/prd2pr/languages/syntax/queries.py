"""Run the queries of a language: `.scm` files whose captures are finding codes or roles such as `binding.value`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from prd2pr.languages.syntax.nodes import get_text, join_tokens, list_children, load_grammar, parse_text, walk

if TYPE_CHECKING:
    from tree_sitter import Node, Query

Names = Mapping[str, frozenset[str]]  # sets of names in a file for the predicates `in?` and `mentions?`
# Takes the node, further arguments and the file's names. A second capture is passed as its tokens.
Predicate = Callable[["Node", Sequence[str], Names], bool]
Found = tuple[str, str, "Node"]  # code, message and place
_CODE = re.compile(r"[A-Z]{3}\d{3}")
_DIRECTORY = Path(__file__).parents[1]
_UNTIL = "until"


@dataclass(frozen=True)
class Match:
    """A match of a pattern: its captured nodes, and the settings of the pattern."""

    nodes: Mapping[str, list[Node]]
    settings: Mapping[str, str | None]
    pattern: int

    @property
    def span(self) -> tuple[int, int]:
        """A sort key for text order, with outer matches before inner ones."""
        nodes = [node for each in self.nodes.values() for node in each]
        return min(node.start_byte for node in nodes), -max(node.end_byte for node in nodes)

    def __getitem__(self, role: str) -> Node:
        return self.nodes[role][0]

    def text(self, role: str) -> str:
        return get_text(self.nodes[role][0]) if role in self.nodes else ""


@dataclass(frozen=True, eq=False)
class Syntax:
    """The grammars and queries of a language."""

    package: str  # directory below languages/ with the .scm files
    select_grammar: Callable[[str], str]  # chooses the grammar by path
    name_kinds: frozenset[str]  # types of nodes that are names
    predicates: Mapping[str, Predicate] = field(default_factory=dict)  # predicates of this language only

    def read(self, path: str, text: str) -> SyntaxFile:
        return _read_file(self, self.select_grammar(path), text)

    def mentions(self, node: Node | None, names: frozenset[str] | set[str]) -> bool:
        return node is not None and any(each.type in self.name_kinds and get_text(each) in names for each in walk(node))


class SyntaxFile:
    """A parsed text and the results of the queries in it."""

    def __init__(self, syntax: Syntax, grammar: str, text: str) -> None:
        self.syntax, self.grammar, self.text = syntax, grammar, text
        self.root = parse_text(grammar, text)

    @cached_property
    def _roles(self) -> dict[str, list[Match]]:
        found: dict[str, list[Match]] = {}
        for match in self.run("roles", {}):
            for role in match.nodes:
                found.setdefault(role, []).append(match)
        return found

    def find(self, role: str, within: Node | None = None) -> list[Match]:
        """Return the matches of `roles.scm` with this capture, in text order."""
        found = self._roles.get(role, [])
        if within is None:
            return found
        return [
            each
            for each in found
            if within.start_byte <= each[role].start_byte and each[role].end_byte <= within.end_byte
        ]

    def find_nodes(self, role: str, within: Node | None = None) -> list[Node]:
        return [node for each in self.find(role, within) for node in each.nodes[role]]

    def run(self, query: str, names: Names, within: Node | None = None) -> list[Match]:
        import tree_sitter

        compiled = load_query(self.syntax.package, query, self.grammar)

        def holds(
            predicate: str,
            args: Sequence[tuple[str, str]],
            pattern_index: int,  # noqa: ARG001 passed by name
            captures: Mapping[str, list[Node]],
        ) -> bool:
            return self._holds(predicate, args, captures, names)

        matches = tree_sitter.QueryCursor(compiled).matches(within or self.root, holds)
        found = [Match(nodes, compiled.pattern_settings(pattern), pattern) for pattern, nodes in matches]
        return sorted(found, key=lambda each: each.span)

    def find_facts(self, query: str, names: Names, within: Node | None = None) -> Iterator[Found]:
        """Yield the findings that the captures of a query name.

        If several patterns match a node, the first one counts.
        """
        found: dict[int, tuple[int, Found]] = {}
        for match in self.run(query, names, within):
            for code in filter(_CODE.fullmatch, match.nodes):
                for node in match.nodes[code]:
                    texts = {name: get_text(nodes[0]) for name, nodes in match.nodes.items()}
                    message = (match.settings["message"] or "").format_map(texts)
                    if node.id not in found or match.pattern < found[node.id][0]:
                        found[node.id] = (match.pattern, (code, message, node))
        return (fact for _, fact in sorted(found.values(), key=lambda each: (each[1][2].start_byte, each[0])))

    def _holds(
        self, name: str, given: Sequence[tuple[str, str]], captures: Mapping[str, list[Node]], names: Names
    ) -> bool:
        plain = name.removeprefix("not-")
        check = self.syntax.predicates.get(plain) or _PREDICATES[plain]
        first, *rest = given
        words = [
            word if kind == "string" else " ".join(map(join_tokens, captures.get(word, ()))) for word, kind in rest
        ]
        results = [self._check(check, node, words, names) for node in captures.get(first[0], ())]
        return not any(results) if name.startswith("not-") else all(results)

    def _check(self, check: Predicate, node: Node, words: Sequence[str], names: Names) -> bool:
        if check is _mentions:
            return self.syntax.mentions(node, names[words[0]])
        return check(node, words, names)


@lru_cache(maxsize=256)
def _read_file(syntax: Syntax, grammar: str, text: str) -> SyntaxFile:
    return SyntaxFile(syntax, grammar, text)


@cache
def load_query(package: str, name: str, grammar: str) -> Query:
    """Compile a query, once per process."""
    import tree_sitter

    text = (_DIRECTORY / package / f"{name}.scm").read_text(encoding="utf-8")
    own = _DIRECTORY / package / f"{name}.{grammar}.scm"  # queries for nodes that only this grammar has
    return tree_sitter.Query(load_grammar(grammar), text + (own.read_text(encoding="utf-8") if own.is_file() else ""))


# --- predicates -------------------------------------------------------------------------------------------------------


def ancestors(node: Node, top: Node | None = None) -> Iterator[Node]:
    """Yield the ancestors of a node that are below `top`."""
    parent = node.parent
    while parent is not None and (top is None or parent.id != top.id):
        yield parent
        parent = parent.parent


def is_inside(node: Node, kinds: Sequence[str] | frozenset[str], until: Sequence[str] | frozenset[str] = ()) -> bool:
    for parent in ancestors(node):
        if parent.type in until:
            return False
        if parent.type in kinds:
            return True
    return False


def _inside(node: Node, words: Sequence[str], _: Names) -> bool:
    """Return whether the node is inside a kind, as in `(#inside? @node "kind" … "until" "kind" …)`."""
    at = words.index(_UNTIL) if _UNTIL in words else len(words)
    return is_inside(node, words[:at], words[at + 1 :])


def _mentions(_: Node, __: Sequence[str], ___: Names) -> bool:
    raise AssertionError("`mentions?` is evaluated where the names of the file are known")


_PREDICATES: dict[str, Predicate] = {
    "inside?": _inside,
    "child-of?": lambda node, words, _: node.parent is not None and node.parent.type in words,
    "in?": lambda node, words, names: get_text(node) in names[words[0]],
    "flag?": lambda _, words, names: words[0] in names["flags"],
    "mentions?": _mentions,
    "contains?": lambda node, words, _: any(each.type in words for each in walk(node)),
    "tokens?": lambda node, words, _: re.search(words[0], join_tokens(node)) is not None,
    "same?": lambda node, words, _: join_tokens(node) == words[0],
    "first?": lambda node, _, __: node.parent is not None and list_children(node.parent)[0].id == node.id,
    "empty?": lambda node, _, __: not list_children(node),
}


def list_predicates() -> frozenset[str]:
    return frozenset(_PREDICATES)
