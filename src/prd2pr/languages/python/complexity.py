"""Code metrics that show whether a refactoring improves the code."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from prd2pr.languages.python.test_model.module import FunctionNode, parse_python

MEASURES = ("lines", "functions", "complexity_max", "complexity_sum", "longest_function", "duplicate_lines")
_WINDOW = 3  # this many equal lines in a row count as duplicated

_BRANCHES = (
    ast.If,
    ast.IfExp,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ExceptHandler,
    ast.Assert,
    ast.comprehension,
    ast.match_case,
)
_BRANCH_TYPES = frozenset({*_BRANCHES, ast.BoolOp})
_DEFINITION_TYPES = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef})


def measure(source: str) -> dict[str, int]:
    """Return the metrics of one file."""
    tree = parse_python(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, FunctionNode)] if tree else []
    complexities = [1 + _count_branches(node) for node in functions]
    return {
        "lines": len(_list_code_lines(source, tree)),
        "functions": len(functions),
        "complexity_max": max(complexities, default=0),
        "complexity_sum": sum(complexities) + (_count_branches(tree) if tree else 0),
        "longest_function": max((_measure_length(node) for node in functions), default=0),
        "duplicate_lines": _count_duplicates(_list_code_lines(source, tree)),
    }


def measure_files(sources: Mapping[str, str]) -> dict[str, int]:
    """Return the metrics of several files together: the maximum for some metrics, the sum for the others."""
    measures = [measure(source) for source in sources.values()]
    total = {
        name: (max if name in {"complexity_max", "longest_function"} else sum)([each[name] for each in measures] or [0])
        for name in MEASURES
    }
    shared = [
        line
        for path in sorted(sources)
        for line in [*_list_code_lines(sources[path], parse_python(sources[path])), f"\0{path}"]
    ]
    return {**total, "duplicate_lines": _count_duplicates(shared)}


def measure_improvement(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, Any]:
    """Return `Evidence.improvement` for REFACTOR: the metrics of the changed files before and after."""
    python = {path for path in {*old, *new} if path.endswith(".py")}
    others = {path for path in {*old, *new} - python if old.get(path) != new.get(path)}
    comment_only = not others and all(
        path in old and path in new and is_same_program(old[path], new[path]) for path in python
    )
    return {
        "before": measure_files({path: text for path, text in old.items() if path in python}),
        "after": measure_files({path: text for path, text in new.items() if path in python}),
        "comment_only": comment_only and bool(python),
    }


def is_same_program(old: str, new: str) -> bool:
    """Return whether two versions differ only in docstrings and comments."""
    before, after = parse_python(old), parse_python(new)
    if before is None or after is None:
        return old == new
    return _dump_without_docstrings(before) == _dump_without_docstrings(after)


def _dump_without_docstrings(shared: ast.Module) -> str:
    tree = copy.deepcopy(shared)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.ClassDef | FunctionNode)
            and ast.get_docstring(node, clean=False) is not None
        ):
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)


class FunctionMeasure(NamedTuple):
    name: str  # qualified by enclosing classes and functions, such as `Cart.add`
    node: FunctionNode
    length: int
    complexity: int


def measure_functions(tree: ast.Module) -> tuple[list[ast.AST], list[FunctionMeasure]]:
    """Return every node, and every function with its metrics, in one pass, because whole repositories are measured."""
    nodes: list[ast.AST] = []
    functions: list[tuple[str, FunctionNode]] = []
    counts: list[int] = []
    pending: list[tuple[ast.AST, str, int]] = [
        (tree, "", -1)
    ]  # node, qualified prefix, index of the enclosing function
    for node, outer_name, outer in pending:  # the list grows during the loop
        nodes.append(node)
        prefix, owner, kind = outer_name, outer, node.__class__
        if owner >= 0 and kind in _BRANCH_TYPES:
            counts[owner] += _count_node_branches(node)
        if kind in _DEFINITION_TYPES and isinstance(node, FunctionNode | ast.ClassDef):
            prefix = f"{outer_name}{node.name}."
            if isinstance(node, FunctionNode):
                owner = len(functions)
                functions.append((outer_name + node.name, node))
                counts.append(1)
        for name in kind._fields:
            part = getattr(node, name, None)
            if part.__class__ is list:
                pending += [(each, prefix, owner) for each in part if isinstance(each, ast.AST)]
            elif isinstance(part, ast.AST) and not isinstance(part, ast.expr_context | ast.operator):
                pending.append((part, prefix, owner))
    measured = zip(functions, counts, strict=True)
    return nodes, [FunctionMeasure(name, node, _measure_length(node), count) for (name, node), count in measured]


def count_branches(source: str) -> int:
    tree = parse_python(source)
    return sum(_count_node_branches(node) for node in ast.walk(tree)) if tree else 0


def _count_branches(node: ast.AST) -> int:
    """Count the branches of a node, ignoring nested functions."""
    total = 0
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, FunctionNode):
            total += _count_node_branches(child) + _count_branches(child)
    return total


def _count_node_branches(node: ast.AST) -> int:
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    if isinstance(node, ast.comprehension):
        return 1 + len(node.ifs)
    return int(isinstance(node, _BRANCHES))


def _measure_length(node: FunctionNode) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _list_code_lines(source: str, tree: ast.Module | None) -> list[str]:
    """Return the lines of code, without blank lines, comments and docstrings, which must not affect the metrics."""
    dropped: set[int] = set()
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Module | ast.ClassDef | FunctionNode) and ast.get_docstring(node) is not None:
            dropped.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines = (line.strip() for number, line in enumerate(source.splitlines(), 1) if number not in dropped)
    return [line for line in lines if line and not line.startswith("#")]


def _count_duplicates(lines: list[str]) -> int:
    """Return the number of lines in blocks that are repeated elsewhere."""
    code_lines = [i for i, line in enumerate(lines) if any(sign.isalnum() for sign in line)]
    windows = [
        tuple(lines[i] for i in code_lines[start : start + _WINDOW]) for start in range(len(code_lines) - _WINDOW + 1)
    ]
    counts = Counter(
        window for window in windows if not any(line.startswith(("import ", "from ", "\0")) for line in window)
    )
    copied = {
        code_lines[start + offset]
        for start, window in enumerate(windows)
        if counts[window] > 1
        for offset in range(_WINDOW)
    }
    return len(copied)
