"""Measures of a program by its syntax tree, by the same names as those of Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.core.other.syntax import last_line, leaves, line_of, parsed, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_WINDOW = 3
_END = "\0"  # between files: no window reaches across


@dataclass(frozen=True)
class Measured:
    """What a language calls a function, and where its ways part."""

    grammar: str
    functions: Callable[[Node], Iterable[Node]]
    branches: frozenset[str]  # kinds of nodes
    operators: frozenset[str] = frozenset({"&&", "||"})


def measure(language: Measured, texts: Mapping[str, str]) -> dict[str, int]:
    """Of several files: the greatest of what is a maximum, the sum of the rest."""
    complexities, lengths, lines, outer = [], [], [], 0
    for _, text in sorted(texts.items()):
        root = parsed(language.grammar, text)
        for function in language.functions(root):
            complexities.append(1 + _branches(language, function))
            lengths.append(last_line(function) - line_of(function) + 1)
        outer += _branches(language, root)
        lines += [*_code_lines(root, text), _END]
    return {
        "lines": sum(line != _END for line in lines),
        "functions": len(complexities),
        "complexity_max": max(complexities, default=0),
        "complexity_sum": len(complexities) + outer,
        "longest_function": max(lengths, default=0),
        "duplicate_lines": _duplicates(lines),
    }


def _branches(language: Measured, node: Node) -> int:
    return sum(
        each.type in language.branches or (each.type in language.operators and not each.is_named) for each in walk(node)
    )


def _code_lines(root: Node, text: str) -> list[str]:
    spoken = {
        number for node in leaves(root) if text_of(node).strip() for number in range(line_of(node), last_line(node) + 1)
    }
    return [line.strip() for number, line in enumerate(text.splitlines(), 1) if number in spoken]


def _duplicates(lines: list[str]) -> int:
    """Lines in windows that stand more than once, brackets alone aside."""
    telling = [line for line in lines if len(line) > 3 or line == _END]
    windows = [tuple(telling[at : at + _WINDOW]) for at in range(len(telling) - _WINDOW + 1)]
    counts = Counter(windows)
    copied = {
        number
        for at, window in enumerate(windows)
        if counts[window] > 1 and _END not in window
        for number in range(at, at + _WINDOW)
    }
    return len(copied)
