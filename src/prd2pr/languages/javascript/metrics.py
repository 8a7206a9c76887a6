"""Code metrics of JavaScript, with the same names as Python's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from prd2pr.languages.javascript.files import select_grammar
from prd2pr.languages.javascript.functions import find_functions
from prd2pr.languages.syntax import COMMENTS, get_last_line, get_line, get_text, join_tokens, parse_text, walk

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


def normalize_program(path: str, text: str) -> str:
    return join_tokens(parse_text(select_grammar(path), text))


def measure_source(texts: Mapping[str, str]) -> dict[str, int]:
    """Measure several files: maxima of maxima, sums of the rest."""
    complexities, lengths, lines, outer = [], [], [], 0
    for path, text in sorted(texts.items()):
        root = parse_text(select_grammar(path), text)
        for function in find_functions(root):
            complexities.append(1 + _count_branches(function.node))
            lengths.append(get_last_line(function.node) - get_line(function.node) + 1)
        outer += _count_branches(root)
        lines += [*_list_code_lines(root, text), f"\0{path}"]
    code = [line for line in lines if not line.startswith("\0")]
    return {
        "lines": len(code),
        "functions": len(complexities),
        "complexity_max": max(complexities, default=0),
        "complexity_sum": len(complexities) + outer,
        "longest_function": max(lengths, default=0),
        "duplicate_lines": _count_duplicates(lines),
    }


def _count_branches(node: Node) -> int:
    return sum(each.type in _BRANCHES or (each.type in _SHORT_CIRCUITS and not each.is_named) for each in walk(node))


def _list_code_lines(root: Node, text: str) -> list[str]:
    code_numbers = {
        number
        for node in walk(root)
        if not node.children and node.type not in COMMENTS and get_text(node).strip()
        for number in range(get_line(node), get_last_line(node) + 1)
    }
    return [line.strip() for number, line in enumerate(text.splitlines(), 1) if number in code_numbers]


def _count_duplicates(lines: list[str]) -> int:
    """Count lines in windows that occur more than once, ignoring bare brackets."""
    significant = [line for line in lines if len(line) > 3]
    windows = [tuple(significant[at : at + _WINDOW]) for at in range(len(significant) - _WINDOW + 1)]
    counts = Counter(windows)
    copied = {
        number
        for at, window in enumerate(windows)
        if counts[window] > 1 and not any(line.startswith("\0") for line in window)
        for number in range(at, at + _WINDOW)
    }
    return len(copied)
