"""A source file as bytes and as a syntax tree, with the positions of nodes and edits."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property, lru_cache

from prd2pr.languages.python.test_model.module import FunctionNode, parse_python

MAX_SHOWN_LENGTH = 70  # characters of code shown in messages


@dataclass(frozen=True)
class SourceText:
    """A parsed Python file."""

    path: str
    data: bytes
    tree: ast.Module

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        for line in self.data.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        return starts

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return the start and end offset of a node in bytes."""
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self._line_starts[node.lineno - 1] + node.col_offset, self._line_starts[end_line - 1] + end_column

    def code(self, node: ast.expr | ast.stmt) -> str:
        start, end = self.span(node)
        return self.data[start:end].decode()

    def text_between(self, left: ast.expr, right: ast.expr) -> tuple[int, int, str]:
        """Return the start, end and content of the source between two nodes."""
        start, end = self.span(left)[1], self.span(right)[0]
        return start, end, self.data[start:end].decode()

    def statement_span(self, node: ast.stmt) -> tuple[int, int, int]:
        """Return the start, end and first line of a top-level statement, including its decorators."""
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(each.lineno for each in decorators)])
        return self._line_starts[first - 1], self.span(node)[1], first


@lru_cache(maxsize=256)
def parse_source(path: str, text: str) -> SourceText | None:
    """Parse a file. Return None if it is not valid Python or not UTF-8."""
    tree = None if "\ufffd" in text or "\f" in text else parse_python(text)
    return SourceText(path, text.encode(), tree) if tree is not None else None


def clip_code(code: str) -> str:
    """Return the code on one line, shortened for display."""
    line = " ".join(code.split())
    return line if len(line) <= MAX_SHOWN_LENGTH else line[: MAX_SHOWN_LENGTH - 1] + "…"


def get_body_without_docstring(node: FunctionNode) -> list[ast.stmt]:
    return node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body


def get_statement_lines(node: ast.stmt) -> tuple[int, int]:
    """Return the first and last line of a statement, or of its header if it has a body."""
    body = getattr(node, "body", None)
    last = node.end_lineno or node.lineno
    if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
        last = max(node.lineno, min(last, body[0].lineno - 1))
    return node.lineno, last
