"""What a Python file says of itself, read from its syntax tree. Nothing is imported or run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TypeGuard

from prd2pr.core.complexity import walk_measured
from prd2pr.core.definitions import Definition, definitions
from prd2pr.core.living.languages import PYTHON
from prd2pr.core.living.node_kinds import by_kind
from prd2pr.core.living.python_risks import env_reads, risks_in
from prd2pr.core.living.python_ways_in import commands_in, routes_in
from prd2pr.core.living.source_file import Function, OwnError, SourceFile, Symbol
from prd2pr.core.testfacts_model import FunctionNode, decorator_name, dotted, imports_of
from prd2pr.core.wording import clip, plain

_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|$)")
LONGEST_ABOUT = 200


def python_file(text: str) -> SourceFile:
    lines = len(text.splitlines())
    try:
        return _told_by(ast.parse(text), lines)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # ValueError: a null byte; the rest: nested too deep
        return SourceFile(PYTHON, lines, parsed=False)


def _told_by(tree: ast.Module, lines: int) -> SourceFile:
    nodes, measures = walk_measured(tree)
    kinds = by_kind(nodes)
    imported: list[ast.Import | ast.ImportFrom] = [*kinds.of(ast.Import), *kinds.of(ast.ImportFrom)]
    names = imports_of([*imported])
    for_types = {id(each) for node in tree.body if is_for_types(node) for each in ast.walk(node)}
    marked = [name for node in kinds.of(ast.ClassDef) for name in _data_class(node)]
    functions: list[FunctionNode] = [*kinds.of(ast.FunctionDef), *kinds.of(ast.AsyncFunctionDef)]
    return SourceFile(
        language=PYTHON,
        lines=lines,
        about=about(tree),
        symbols=tuple(symbols_in(tree)),
        functions=tuple(
            Function(each.name, each.node.lineno, each.length, each.complexity, is_annotated(each.node))
            for each in sorted(measures, key=lambda each: each.node.lineno)
        ),
        imports=tuple(sorted(set(imports_in(each for each in imported if id(each) not in for_types)))),
        env=env_reads(kinds, names),
        risks=risks_in(kinds, names),
        routes=routes_in(tree, kinds),
        commands=commands_in(kinds),
        errors=tuple(OwnError(node.name, about(node), node.lineno) for node in tree.body if is_error(node)),
        tests=sum(node.name.startswith("test") for node in functions),
        data_classes=len(marked),
        frozen_classes=marked.count("frozen"),
        is_program=any(is_main_guard(node) for node in tree.body),
    )


def about(node: ast.Module | ast.ClassDef | FunctionNode) -> str:
    """The first sentence of the docstring."""
    first = plain((ast.get_docstring(node) or "").partition("\n\n")[0])
    found = _SENTENCE.match(first)
    return clip(found[1] if found else first, LONGEST_ABOUT)


def symbols_in(tree: ast.Module) -> Iterator[Symbol]:
    """Public classes with their public methods, functions and values; what is imported belongs to another module."""
    for name, bound in definitions(tree.body).items():
        owner, _, own = name.rpartition(".")
        kind = kind_of(own, bound[-1])
        if kind and not any(part.startswith("_") for part in name.split(".")) and not (owner and kind != "function"):
            yield Symbol(own, kind, bound[-1].line, owner)


def kind_of(name: str, definition: Definition) -> str:
    """Empty for what is imported. A class stands as a call of itself."""
    value = definition.value
    if isinstance(value, str):
        return ""
    if isinstance(value, FunctionNode):
        return "function"
    is_class = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == name
    return "class" if is_class else "value"


def is_for_types(node: ast.stmt) -> bool:
    """`if TYPE_CHECKING:` — what stands there is never run."""
    return isinstance(node, ast.If) and dotted(node.test).rpartition(".")[2] == "TYPE_CHECKING"


def imports_in(nodes: Iterable[ast.Import | ast.ImportFrom]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            base = f"{'.' * node.level}{node.module or ''}"
            yield from (f"{base}:{alias.name}" for alias in node.names)


def is_annotated(node: FunctionNode) -> bool:
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    named = [each for at, each in enumerate(arguments) if not (at == 0 and each.arg in {"self", "cls"})]
    return all(each.annotation for each in named) and (node.returns is not None or node.name == "__init__")


def is_error(node: ast.stmt) -> TypeGuard[ast.ClassDef]:
    """By its base, as the language itself names exceptions: what derives from an own error is called like one."""
    if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
        return False
    bases = [dotted(base).rpartition(".")[2] for base in node.bases]
    return any(base.endswith(("Error", "Exception", "Warning")) or base == "BaseException" for base in bases)


def is_main_guard(node: ast.stmt) -> bool:
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare):
        return False
    sides = [node.test.left, *node.test.comparators]
    return any(dotted(side) == "__name__" for side in sides) and any(
        isinstance(side, ast.Constant) and side.value == "__main__" for side in sides
    )


def _data_class(node: ast.ClassDef) -> Iterator[str]:
    for mark in node.decorator_list:
        if decorator_name(mark).rpartition(".")[2] == "dataclass":
            keywords = mark.keywords if isinstance(mark, ast.Call) else []
            frozen = any(
                each.arg == "frozen" and isinstance(each.value, ast.Constant) and bool(each.value.value)
                for each in keywords
            )
            yield "frozen" if frozen else "open"
