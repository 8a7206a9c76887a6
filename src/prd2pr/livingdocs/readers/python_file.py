"""Read the facts of a Python file from its syntax tree. Nothing is imported or run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TypeGuard

from prd2pr.domain.wording import clean_line, clip
from prd2pr.languages.python.complexity import measure_functions
from prd2pr.languages.python.definitions import Definition, collect_definitions
from prd2pr.languages.python.test_model.module import FunctionNode, collect_imports, get_decorator_name, get_dotted_name
from prd2pr.livingdocs.readers.languages import PYTHON
from prd2pr.livingdocs.readers.node_kinds import group_by_kind
from prd2pr.livingdocs.readers.python_entry_points import find_cli_commands, find_routes
from prd2pr.livingdocs.readers.python_risks import find_env_reads, find_risks
from prd2pr.livingdocs.readers.source_file import ErrorClass, SourceFile, SourceFunction, SourceSymbol

_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|$)")
MAX_ABOUT = 200


def read_python_file(text: str) -> SourceFile:
    lines = len(text.splitlines())
    try:
        return _read_tree(ast.parse(text), lines)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a null byte, or nested too deep
        return SourceFile(PYTHON, lines, parsed=False)


def _read_tree(tree: ast.Module, lines: int) -> SourceFile:
    nodes, measures = measure_functions(tree)
    kinds = group_by_kind(nodes)
    imported: list[ast.Import | ast.ImportFrom] = [*kinds.of(ast.Import), *kinds.of(ast.ImportFrom)]
    names = collect_imports([*imported])
    for_types = {id(each) for node in tree.body if is_type_checking_block(node) for each in ast.walk(node)}
    marked = [name for node in kinds.of(ast.ClassDef) for name in _list_dataclass_kinds(node)]
    functions: list[FunctionNode] = [*kinds.of(ast.FunctionDef), *kinds.of(ast.AsyncFunctionDef)]
    return SourceFile(
        language=PYTHON,
        lines=lines,
        about=extract_first_docstring_sentence(tree),
        symbols=tuple(list_public_symbols(tree)),
        functions=tuple(
            SourceFunction(each.name, each.node.lineno, each.length, each.complexity, is_fully_annotated(each.node))
            for each in sorted(measures, key=lambda each: each.node.lineno)
        ),
        imports=tuple(sorted(set(list_imports(each for each in imported if id(each) not in for_types)))),
        env=find_env_reads(kinds, names),
        risks=find_risks(kinds, names),
        routes=find_routes(tree, kinds),
        commands=find_cli_commands(kinds),
        errors=tuple(
            ErrorClass(node.name, extract_first_docstring_sentence(node), node.lineno)
            for node in tree.body
            if is_exception_class(node)
        ),
        tests=sum(node.name.startswith("test") for node in functions),
        data_classes=len(marked),
        frozen_classes=marked.count("frozen"),
        is_program=any(is_main_guard(node) for node in tree.body),
    )


def extract_first_docstring_sentence(node: ast.Module | ast.ClassDef | FunctionNode) -> str:
    first = clean_line((ast.get_docstring(node) or "").partition("\n\n")[0])
    found = _SENTENCE.match(first)
    return clip(found[1] if found else first, MAX_ABOUT)


def list_public_symbols(tree: ast.Module) -> Iterator[SourceSymbol]:
    """Yield public classes with their public methods, functions and values, without imported names."""
    for name, bound in collect_definitions(tree.body).items():
        owner, _, own = name.rpartition(".")
        kind = classify_symbol(own, bound[-1])
        if kind and not any(part.startswith("_") for part in name.split(".")) and not (owner and kind != "function"):
            yield SourceSymbol(own, kind, bound[-1].line, owner)


def classify_symbol(name: str, definition: Definition) -> str:
    """Return the kind of a definition, or an empty string for an import.

    A class appears as a call of itself.
    """
    value = definition.value
    if isinstance(value, str):
        return ""
    if isinstance(value, FunctionNode):
        return "function"
    is_class = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == name
    return "class" if is_class else "value"


def is_type_checking_block(node: ast.stmt) -> bool:
    """Return whether this is an `if TYPE_CHECKING:` block, which never runs."""
    return isinstance(node, ast.If) and get_dotted_name(node.test).rpartition(".")[2] == "TYPE_CHECKING"


def list_imports(nodes: Iterable[ast.Import | ast.ImportFrom]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            base = f"{'.' * node.level}{node.module or ''}"
            yield from (f"{base}:{alias.name}" for alias in node.names)


def is_fully_annotated(node: FunctionNode) -> bool:
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    named = [each for at, each in enumerate(arguments) if not (at == 0 and each.arg in {"self", "cls"})]
    return all(each.annotation for each in named) and (node.returns is not None or node.name == "__init__")


def is_exception_class(node: ast.stmt) -> TypeGuard[ast.ClassDef]:
    """Return whether this is a public exception class, judged by the name of its base."""
    if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
        return False
    bases = [get_dotted_name(base).rpartition(".")[2] for base in node.bases]
    return any(base.endswith(("Error", "Exception", "Warning")) or base == "BaseException" for base in bases)


def is_main_guard(node: ast.stmt) -> bool:
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare):
        return False
    sides = [node.test.left, *node.test.comparators]
    return any(get_dotted_name(side) == "__name__" for side in sides) and any(
        isinstance(side, ast.Constant) and side.value == "__main__" for side in sides
    )


def _list_dataclass_kinds(node: ast.ClassDef) -> Iterator[str]:
    for mark in node.decorator_list:
        if get_decorator_name(mark).rpartition(".")[2] == "dataclass":
            keywords = mark.keywords if isinstance(mark, ast.Call) else []
            frozen = any(
                each.arg == "frozen" and isinstance(each.value, ast.Constant) and bool(each.value.value)
                for each in keywords
            )
            yield "frozen" if frozen else "open"
