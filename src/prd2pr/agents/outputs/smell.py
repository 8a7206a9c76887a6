"""Smell: warnings about a story's code, based on metrics alone. They block nothing.

Only deterioration is reported: a file that was already long and did not grow is not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from prd2pr.domain.records import Record
from prd2pr.languages.python.complexity import measure
from prd2pr.languages.python.test_model.module import FunctionNode, parse_python
from prd2pr.memory.lessons import list_imported_modules

FILE_LINES = 300
FUNCTION_LINES = 50
IMPORTS = 20
COPIED_LINES = 12
GROWTH = 1.5  # relative to the oldest of the last snapshots
LEAST_GROWTH = 10  # branches; smaller growth is ignored

SmellRule = Literal["long file", "long function", "many imports", "copied lines", "growing complexity", "scope drift"]


class SmellWarning(Record):
    rule: SmellRule
    path: str
    line: int = 0
    message: str


class SmellReport(Record):
    looked_at: tuple[str, ...] = ()
    warnings: tuple[SmellWarning, ...] = ()


@dataclass(frozen=True)
class StoryCode:
    """The source files that a story changed, before and after it."""

    before: Mapping[str, str] = field(default_factory=dict)
    after: Mapping[str, str] = field(default_factory=dict)
    planned: tuple[str, ...] = ()  # paths in the design and plan; empty if not known
    history: Mapping[str, tuple[float, ...]] = field(
        default_factory=dict
    )  # complexity at earlier stories, oldest first


def detect_smells(code: StoryCode) -> SmellReport:
    found = [warning for path in sorted(code.after) for warning in _check_file(path, code)]
    return SmellReport(looked_at=tuple(sorted(code.after)), warnings=(*found, *_check_drift(code)))


def _check_file(path: str, code: StoryCode) -> Iterator[SmellWarning]:
    old, new = code.before.get(path, ""), code.after[path]
    lines = new.count("\n") + (not new.endswith("\n") and bool(new))
    if lines > FILE_LINES and lines > old.count("\n"):
        yield SmellWarning(rule="long file", path=path, message=f"{lines} lines, more than {FILE_LINES}")
    if not path.endswith(".py"):
        return
    yield from _check_long_functions(path, old, new)
    imports, before = len(list_imported_modules(new)), len(list_imported_modules(old))
    if imports > IMPORTS and imports > before:
        yield SmellWarning(rule="many imports", path=path, message=f"{imports} imported modules, more than {IMPORTS}")
    yield from _check_measures(path, old, new, code.history.get(path, ()))


def _check_long_functions(path: str, old: str, new: str) -> Iterator[SmellWarning]:
    before = {name: length for name, length, _ in _iter_functions(old)}
    for name, length, line in _iter_functions(new):
        if length > FUNCTION_LINES and length > before.get(name, 0):
            message = f"`{name}` has {length} lines, more than {FUNCTION_LINES}"
            yield SmellWarning(rule="long function", path=path, line=line, message=message)


def _check_measures(path: str, old: str, new: str, history: tuple[float, ...]) -> Iterator[SmellWarning]:
    was, now = measure(old), measure(new)
    copied = now["duplicate_lines"]
    if copied > COPIED_LINES and copied > was["duplicate_lines"]:
        yield SmellWarning(rule="copied lines", path=path, message=f"{copied} duplicated lines")
    first = history[0] if history else float(was["complexity_sum"])
    here = now["complexity_sum"]
    if first and here > first * GROWTH and here - first >= LEAST_GROWTH:
        since = f"in the last {len(history)} stories" if len(history) > 1 else "by this story"
        message = f"complexity grew from {first:g} to {here} {since}"
        yield SmellWarning(rule="growing complexity", path=path, message=message)


def _check_drift(code: StoryCode) -> Iterator[SmellWarning]:
    if not code.planned:
        return
    for path in sorted({*code.before, *code.after} - {*code.planned}):
        yield SmellWarning(rule="scope drift", path=path, message="changed, though neither plan nor design names it")


def _iter_functions(source: str) -> Iterator[tuple[str, int, int]]:
    """Yield the qualified name, length and line of each function."""
    tree = parse_python(source)
    waiting: list[tuple[str, ast.AST]] = [("", tree)] if tree else []
    while waiting:
        prefix, node = waiting.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, FunctionNode):
                name = f"{prefix}{child.name}"
                yield name, (child.end_lineno or child.lineno) - child.lineno + 1, child.lineno
                waiting.append((f"{name}.", child))
            elif isinstance(child, ast.ClassDef):
                waiting.append((f"{prefix}{child.name}.", child))
            else:
                waiting.append((prefix, child))
