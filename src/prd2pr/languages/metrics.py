"""Code metrics from syntax trees, with the same names as Python's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.languages.syntax import get_last_line, get_line, get_text, parse_text, walk, walk_leaves

if TYPE_CHECKING:
    from tree_sitter import Node

_WINDOW = 3
_END = "\0"  # between files, so that no window spans two


@dataclass(frozen=True)
class MetricsGrammar:
    """How to find functions and branches in a language's syntax tree."""

    grammar: str
    functions: Callable[[Node], Iterable[Node]]
    branches: frozenset[str]  # kinds of nodes
    operators: frozenset[str] = frozenset({"&&", "||"})


def measure_syntax(language: MetricsGrammar, texts: Mapping[str, str]) -> dict[str, int]:
    """Measure several files: maxima of maxima, sums of the rest."""
    complexities, lengths, lines, outer = [], [], [], 0
    for _, text in sorted(texts.items()):
        root = parse_text(language.grammar, text)
        for function in language.functions(root):
            complexities.append(1 + _count_branches(language, function))
            lengths.append(get_last_line(function) - get_line(function) + 1)
        outer += _count_branches(language, root)
        lines += [*_list_code_lines(root, text), _END]
    return {
        "lines": sum(line != _END for line in lines),
        "functions": len(complexities),
        "complexity_max": max(complexities, default=0),
        "complexity_sum": len(complexities) + outer,
        "longest_function": max(lengths, default=0),
        "duplicate_lines": _count_duplicates(lines),
    }


def _count_branches(language: MetricsGrammar, node: Node) -> int:
    return sum(
        each.type in language.branches or (each.type in language.operators and not each.is_named) for each in walk(node)
    )


def _list_code_lines(root: Node, text: str) -> list[str]:
    code_numbers = {
        number
        for node in walk_leaves(root)
        if get_text(node).strip()
        for number in range(get_line(node), get_last_line(node) + 1)
    }
    return [line.strip() for number, line in enumerate(text.splitlines(), 1) if number in code_numbers]


def _count_duplicates(lines: list[str]) -> int:
    """Count lines in windows that occur more than once, ignoring bare brackets."""
    significant = [line for line in lines if len(line) > 3 or line == _END]
    windows = [tuple(significant[at : at + _WINDOW]) for at in range(len(significant) - _WINDOW + 1)]
    counts = Counter(windows)
    copied = {
        number
        for at, window in enumerate(windows)
        if counts[window] > 1 and _END not in window
        for number in range(at, at + _WINDOW)
    }
    return len(copied)
