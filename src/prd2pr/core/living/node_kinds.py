"""The nodes of a syntax tree by their kind, so that each question looks only at the nodes that can answer it."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import NamedTuple, TypeVar, cast

N = TypeVar("N", bound=ast.AST)

_ASKED_FOR = frozenset(
    {
        ast.AnnAssign,
        ast.Assign,
        ast.AsyncFunctionDef,
        ast.AugAssign,
        ast.Call,
        ast.ClassDef,
        ast.FunctionDef,
        ast.Import,
        ast.ImportFrom,
        ast.Subscript,
    }
)


class NodeKinds(NamedTuple):
    found: dict[type[ast.AST], list[ast.AST]]

    def of(self, kind: type[N]) -> list[N]:
        return cast("list[N]", self.found.get(kind, []))  # each list holds nodes of its key


def by_kind(nodes: Iterable[ast.AST]) -> NodeKinds:
    found: dict[type[ast.AST], list[ast.AST]] = {}
    for node in nodes:
        kind = node.__class__
        if kind in _ASKED_FOR:
            found.setdefault(kind, []).append(node)
    return NodeKinds(found)
