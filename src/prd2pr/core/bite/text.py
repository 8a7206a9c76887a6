"""A source file as bytes and as a tree: where each node stands, and what an edit makes of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from prd2pr.core.testfacts_model import FunctionNode, parse

SHOWN = 70  # characters of a piece of code

Edit = tuple[int, int, str]  # from and to, in bytes of the file, and what stands there instead


@dataclass(frozen=True)
class SourceText:
    path: str
    data: bytes
    tree: ast.Module

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        for line in self.data.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        return starts

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[end_line - 1] + end_column

    def code(self, node: ast.expr | ast.stmt) -> str:
        start, end = self.span(node)
        return self.data[start:end].decode()

    def between(self, left: ast.expr, right: ast.expr) -> tuple[int, int, str]:
        start, end = self.span(left)[1], self.span(right)[0]
        return start, end, self.data[start:end].decode()

    def statement_span(self, node: ast.stmt) -> tuple[int, int, int]:
        """A top-level statement with its decorators: from, to, and its first line."""
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(each.lineno for each in decorators)])
        return self._starts[first - 1], self.span(node)[1], first

    def edited(self, edit: Edit) -> str:
        start, end, replacement = edit
        return (self.data[:start] + replacement.encode() + self.data[end:]).decode()


@lru_cache(maxsize=256)
def source_text(path: str, text: str) -> SourceText | None:
    """None for what is no Python, or is not written in UTF-8: nothing can be said of it."""
    tree = None if "\ufffd" in text or "\f" in text else parse(text)
    return SourceText(path, text.encode(), tree) if tree is not None else None


def shown(code: str) -> str:
    line = " ".join(code.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"


def body_without_docstring(node: FunctionNode) -> list[ast.stmt]:
    return node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body


def lines_of(node: ast.stmt) -> tuple[int, int]:
    """The lines of a statement; of one with a body, those of its head."""
    body = getattr(node, "body", None)
    last = node.end_lineno or node.lineno
    if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
        last = max(node.lineno, min(last, body[0].lineno - 1))
    return node.lineno, last


def expressions(node: ast.AST) -> Iterator[ast.expr]:
    return (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))
