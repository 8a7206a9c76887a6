"""The source module that the rules check, and the faults that they report."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

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

    def resolve(self, node: ast.AST) -> str:
        return resolve_name(get_dotted_name(node), self.imports)

    def iterate_calls(self) -> Iterator[tuple[str, ast.Call]]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                yield self.resolve(node.func), node


def make_source_fault(code: str, node: ast.AST, message: str) -> SourceFault:
    return SourceFault(code, ast.dump(node), getattr(node, "lineno", 0), message)
