"""Detects tests that start a program of the project: by module name, by path, or by loading a file as a module."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from prd2pr.domain.evidence import PathKind
from prd2pr.domain.paths import classify_path
from prd2pr.languages.python.test_model.module import FunctionNode, get_dotted_name, resolve_name
from prd2pr.languages.python.test_model.scope import TestScope, list_string_constants, walk_nodes

STARTER_MODULES = frozenset({"subprocess", "runpy", "pexpect", "os", "pty", "asyncio"})
LOADER_FUNCTIONS = frozenset({"importlib.util.spec_from_file_location", "importlib.machinery.SourceFileLoader"})
_PROGRAM_SUFFIXES = frozenset({"", ".py", ".sh", ".bash"})


def runs_subject(scope: TestScope) -> bool:
    """Return whether the test starts a process, or executes a string, that names the project."""
    calls = [inner for node in scope.reachable_functions for inner in ast.walk(node) if isinstance(inner, ast.Call)]
    names = {resolve_name(get_dotted_name(call.func), scope.imports) for call in calls}
    if not any(_is_starter(name) or name in {"exec", "eval"} for name in names):
        return False
    places = [*(statement for node in scope.reachable_functions for statement in node.body), *scope.statements]
    return _mentions_subject(places, scope)


def starts_subject(call: ast.Call, scope: TestScope) -> bool:
    """Return whether this call starts the subject, as in `subprocess.run([sys.executable, SCRIPT], check=True)`."""
    if not _is_starter(resolve_name(get_dotted_name(call.func), scope.imports)):
        return False
    used = {inner.id for inner in ast.walk(call) if isinstance(inner, ast.Name)}
    bound = [node for node, names, _ in scope.suite.own.assignments if names & used]
    return _mentions_subject([call, *bound, *_find_assigned_values(scope.reachable_functions, used)], scope)


def _find_assigned_values(functions: Iterable[FunctionNode], names: set[str]) -> Iterator[ast.AST]:
    for node in walk_nodes(functions):
        if isinstance(node, ast.Assign) and names & {get_dotted_name(target) for target in node.targets}:
            yield node.value


def _is_starter(name: str) -> bool:
    return name.partition(".")[0] in STARTER_MODULES or name in LOADER_FUNCTIONS


def _mentions_subject(places: Iterable[ast.AST], scope: TestScope) -> bool:
    places = list(places)
    if any(scope.suite.mentions_subject(text) for text in list_string_constants(places)):
        return True
    return any(is_startable_file(path) for path in _find_paths(places, scope))


def is_startable_file(path: str) -> bool:
    """Return whether the path is a source file that can be started, such as `scripts/count.py` or `bin/greet`."""
    name = PurePosixPath(path)
    if name.is_absolute() or ".." in name.parts or " " in path or name.suffix not in _PROGRAM_SUFFIXES:
        return False
    return (name.suffix != "" or len(name.parts) > 1) and classify_path(path) is PathKind.SOURCE


def _find_paths(places: Iterable[ast.AST], scope: TestScope) -> Iterator[str]:
    """Yield paths from strings and from `ROOT / "bin" / "greet"`, except those that start in a test directory."""
    given = {argument.arg for node in scope.reachable_functions for argument in node.args.args}
    for node in walk_nodes(places):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.endswith((".py", ".sh")):
            yield node.value
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            root, parts = _split_joined_path(node)
            if not given & {inner.id for inner in ast.walk(root) if isinstance(inner, ast.Name)}:
                yield "/".join(parts)


def _split_joined_path(node: ast.expr) -> tuple[ast.expr, list[str]]:
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)):
        return node, []
    root, parts = _split_joined_path(node.left)
    known = isinstance(node.right, ast.Constant) and isinstance(node.right.value, str)
    return root, [*parts, str(node.right.value)] if known and isinstance(node.right, ast.Constant) else parts
