"""Arguments of macro calls. The grammar represents them as plain tokens, which this module splits at commas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.languages.syntax.nodes import COMMENTS, get_text, join_tokens, walk, walk_leaves

if TYPE_CHECKING:
    from tree_sitter import Node

LITERALS = frozenset(
    {"integer_literal", "float_literal", "string_literal", "raw_string_literal", "char_literal", "boolean_literal"}
)


@dataclass(frozen=True)
class Argument:
    nodes: tuple[Node, ...]  # tokens and token trees

    @property
    def text(self) -> str:
        """The tokens of the argument, separated by spaces."""
        return " ".join(join_tokens(node) for node in self.nodes)

    @property
    def leaves(self) -> tuple[Node, ...]:
        return tuple(leaf for node in self.nodes for leaf in walk_leaves(node))

    @property
    def names(self) -> frozenset[str]:
        kinds = {"identifier", "type_identifier", "self", "crate", "primitive_type", "field_identifier"}
        return frozenset(get_text(node) for node in self.leaves if node.type in kinds)

    @property
    def literals(self) -> tuple[Node, ...]:
        return tuple(node for each in self.nodes for node in walk(each) if node.type in LITERALS)

    @property
    def is_constant(self) -> bool:
        return bool(self.literals) and not self.names


def split_arguments(macro: Node) -> tuple[Argument, ...]:
    """Return the arguments of a `macro_invocation`."""
    tree = next((each for each in macro.children if each.type == "token_tree"), None)
    if tree is None:
        return ()
    parts: list[list[Node]] = [[]]
    for node in tree.children[1:-1]:
        if node.type == ",":
            parts.append([])
        elif node.type not in COMMENTS:
            parts[-1].append(node)
    return tuple(Argument(tuple(each)) for each in parts if each)


def read_macro_name(node: Node) -> str:
    return get_text(node.child_by_field_name("macro")).rpartition("::")[2] if node.type == "macro_invocation" else ""
