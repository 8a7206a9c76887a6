"""Group syntax tree nodes by kind, so that each reader visits only the nodes that it needs."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import NamedTuple, TypeVar, cast

N = TypeVar("N", bound=ast.AST)

_COLLECTED_KINDS = frozenset(
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
        return cast("list[N]", self.found.get(kind, []))  # each list contains nodes of its key's type


def group_by_kind(nodes: Iterable[ast.AST]) -> NodeKinds:
    found: dict[type[ast.AST], list[ast.AST]] = {}
    for node in nodes:
        kind = node.__class__
        if kind in _COLLECTED_KINDS:
            found.setdefault(kind, []).append(node)
    return NodeKinds(found)
