"""Measures of code, so that "better" after a refactoring is a number and not an opinion."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from prd2pr.core.testfacts_model import FunctionNode, parse

MEASURES = ("lines", "functions", "complexity_max", "complexity_sum", "longest_function", "duplicate_lines")
_WINDOW = 3  # this many equal lines in a row count as copied

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
_COUNTED = frozenset({*_BRANCHES, ast.BoolOp})
_NAMED = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef})


def measure(source: str) -> dict[str, int]:
    tree = parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, FunctionNode)] if tree else []
    complexities = [1 + _branches(node) for node in functions]
    return {
        "lines": len(_code_lines(source, tree)),
        "functions": len(functions),
        "complexity_max": max(complexities, default=0),
        "complexity_sum": sum(complexities) + (_branches(tree) if tree else 0),
        "longest_function": max((_length(node) for node in functions), default=0),
        "duplicate_lines": _duplicates(_code_lines(source, tree)),
    }


def measure_all(sources: Mapping[str, str]) -> dict[str, int]:
    """One measure of several files: the greatest of what is a maximum, the sum of the rest."""
    measures = [measure(source) for source in sources.values()]
    total = {
        name: (max if name in {"complexity_max", "longest_function"} else sum)([each[name] for each in measures] or [0])
        for name in MEASURES
    }
    shared = [
        line for path in sorted(sources) for line in [*_code_lines(sources[path], parse(sources[path])), f"\0{path}"]
    ]
    return {**total, "duplicate_lines": _duplicates(shared)}


def improvement(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, Any]:
    """What `Evidence.improvement` holds for REFACTOR, from the changed source files (path -> text) before and after."""
    python = {path for path in {*old, *new} if path.endswith(".py")}
    others = {path for path in {*old, *new} - python if old.get(path) != new.get(path)}
    comment_only = not others and all(
        path in old and path in new and same_but_comments(old[path], new[path]) for path in python
    )
    return {
        "before": measure_all({path: text for path, text in old.items() if path in python}),
        "after": measure_all({path: text for path, text in new.items() if path in python}),
        "comment_only": comment_only and bool(python),
    }


def same_but_comments(old: str, new: str) -> bool:
    """Whether two texts are the same program, docstrings and comments aside."""
    before, after = parse(old), parse(new)
    if before is None or after is None:
        return old == new
    return _bare(before) == _bare(after)


def _bare(shared: ast.Module) -> str:
    tree = copy.deepcopy(shared)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.ClassDef | FunctionNode)
            and ast.get_docstring(node, clean=False) is not None
        ):
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)


class FunctionMeasure(NamedTuple):
    name: str  # with the classes and functions around it: Cart.add
    node: FunctionNode
    length: int
    complexity: int


def walk_measured(tree: ast.Module) -> tuple[list[ast.AST], list[FunctionMeasure]]:
    """Every node, and every function as `measure` counts it, in one pass: whole repositories are read this way."""
    nodes: list[ast.AST] = []
    functions: list[tuple[str, FunctionNode]] = []
    counts: list[int] = []
    waiting: list[tuple[ast.AST, str, int]] = [(tree, "", -1)]  # with the name around it, and the function's number
    for node, around, outer in waiting:  # grows while it is walked
        nodes.append(node)
        prefix, owner, kind = around, outer, node.__class__
        if owner >= 0 and kind in _COUNTED:
            counts[owner] += _own_branches(node)
        if kind in _NAMED and isinstance(node, FunctionNode | ast.ClassDef):
            prefix = f"{around}{node.name}."
            if isinstance(node, FunctionNode):
                owner = len(functions)
                functions.append((around + node.name, node))
                counts.append(1)
        for name in kind._fields:
            part = getattr(node, name, None)
            if part.__class__ is list:
                waiting += [(each, prefix, owner) for each in part if isinstance(each, ast.AST)]
            elif isinstance(part, ast.AST) and not isinstance(part, ast.expr_context | ast.operator):
                waiting.append((part, prefix, owner))
    measured = zip(functions, counts, strict=True)
    return nodes, [FunctionMeasure(name, node, _length(node), count) for (name, node), count in measured]


def branches(source: str) -> int:
    tree = parse(source)
    return sum(_own_branches(node) for node in ast.walk(tree)) if tree else 0


def _branches(node: ast.AST) -> int:
    """Branches of this node itself: what nested functions hold is counted with them."""
    total = 0
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, FunctionNode):
            total += _own_branches(child) + _branches(child)
    return total


def _own_branches(node: ast.AST) -> int:
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    if isinstance(node, ast.comprehension):
        return 1 + len(node.ifs)
    return int(isinstance(node, _BRANCHES))


def _length(node: FunctionNode) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _code_lines(source: str, tree: ast.Module | None) -> list[str]:
    """The lines that say something: no blanks, comments or docstrings, so that words alone change no measure."""
    dropped: set[int] = set()
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Module | ast.ClassDef | FunctionNode) and ast.get_docstring(node) is not None:
            dropped.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines = (line.strip() for number, line in enumerate(source.splitlines(), 1) if number not in dropped)
    return [line for line in lines if line and not line.startswith("#")]


def _duplicates(lines: list[str]) -> int:
    """How many lines lie in a run of lines that stands somewhere else too."""
    told = [i for i, line in enumerate(lines) if any(sign.isalnum() for sign in line)]
    windows = [tuple(lines[i] for i in told[at : at + _WINDOW]) for at in range(len(told) - _WINDOW + 1)]
    counts = Counter(
        window for window in windows if not any(line.startswith(("import ", "from ", "\0")) for line in window)
    )
    copied = {told[at + step] for at, window in enumerate(windows) if counts[window] > 1 for step in range(_WINDOW)}
    return len(copied)
