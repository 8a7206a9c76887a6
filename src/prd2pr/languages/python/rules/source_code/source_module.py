"""The source module that the rules check, and the faults that they report."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from prd2pr.languages.python.test_model.module import get_dotted_name, resolve_name


@dataclass(frozen=True)
class SourceFault:
    code: str
    key: str  # identifies the fault independently of its line
    line: int
    message: str


@dataclass(frozen=True)
class SourceModule:
    tree: ast.Module
    imports: Mapping[str, str]

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    def resolve(self, node: ast.AST) -> str:
        return resolve_name(get_dotted_name(node), self.imports)

    def iterate_calls(self) -> Iterator[tuple[str, ast.Call]]:
        for node in self.nodes:
            if isinstance(node, ast.Call):
                yield self.resolve(node.func), node


def make_source_fault(code: str, node: ast.AST, message: str) -> SourceFault:
    return SourceFault(code, ast.dump(node), getattr(node, "lineno", 0), message)
