"""Measures of JavaScript, by the same names as those of Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from prd2pr.core.other.javascript.files import grammar_of
from prd2pr.core.other.javascript.functions import functions_in
from prd2pr.core.other.syntax import COMMENTS, last_line, line_of, parsed, text_of, tokens, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_WINDOW = 3
_BRANCHES = frozenset(
    {
        "if_statement",
        "for_statement",
        "for_in_statement",
        "while_statement",
        "do_statement",
        "switch_case",
        "catch_clause",
        "ternary_expression",
    }
)
_SHORT_CIRCUITS = frozenset({"&&", "||", "??"})


def program_of(path: str, text: str) -> str:
    return tokens(parsed(grammar_of(path), text))


def measure(texts: Mapping[str, str]) -> dict[str, int]:
    """Of several files: the greatest of what is a maximum, the sum of the rest."""
    complexities, lengths, lines, outer = [], [], [], 0
    for path, text in sorted(texts.items()):
        root = parsed(grammar_of(path), text)
        for function in functions_in(root):
            complexities.append(1 + _branches(function.node))
            lengths.append(last_line(function.node) - line_of(function.node) + 1)
        outer += _branches(root)
        lines += [*_code_lines(root, text), f"\0{path}"]
    code = [line for line in lines if not line.startswith("\0")]
    return {
        "lines": len(code),
        "functions": len(complexities),
        "complexity_max": max(complexities, default=0),
        "complexity_sum": len(complexities) + outer,
        "longest_function": max(lengths, default=0),
        "duplicate_lines": _duplicates(lines),
    }


def _branches(node: Node) -> int:
    return sum(each.type in _BRANCHES or (each.type in _SHORT_CIRCUITS and not each.is_named) for each in walk(node))


def _code_lines(root: Node, text: str) -> list[str]:
    spoken = {
        number
        for node in walk(root)
        if not node.children and node.type not in COMMENTS and text_of(node).strip()
        for number in range(line_of(node), last_line(node) + 1)
    }
    return [line.strip() for number, line in enumerate(text.splitlines(), 1) if number in spoken]


def _duplicates(lines: list[str]) -> int:
    """Lines in windows that stand more than once, brackets alone aside."""
    telling = [line for line in lines if len(line) > 3]
    windows = [tuple(telling[at : at + _WINDOW]) for at in range(len(telling) - _WINDOW + 1)]
    counts = Counter(windows)
    copied = {
        number
        for at, window in enumerate(windows)
        if counts[window] > 1 and not any(line.startswith("\0") for line in window)
        for number in range(at, at + _WINDOW)
    }
    return len(copied)
