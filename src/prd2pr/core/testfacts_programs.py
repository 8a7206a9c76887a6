"""Programs of the project that a test starts: by a module's name, by a path, or by loading a file as a module."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from prd2pr.core.evidence import PathKind
from prd2pr.core.paths import classify_path
from prd2pr.core.testfacts_model import FunctionNode, dotted, resolve
from prd2pr.core.testfacts_scope import TestScope, string_constants, walk_all

STARTERS = frozenset({"subprocess", "runpy", "pexpect", "os", "pty", "asyncio"})
LOADERS = frozenset({"importlib.util.spec_from_file_location", "importlib.machinery.SourceFileLoader"})
_ENDINGS = frozenset({"", ".py", ".sh", ".bash"})


def runs_subject(scope: TestScope) -> bool:
    """A text with code or a command line that names the project, in a test that starts a process or executes text."""
    calls = [inner for node in scope.reach for inner in ast.walk(node) if isinstance(inner, ast.Call)]
    names = {resolve(dotted(call.func), scope.imports) for call in calls}
    if not any(_starts(name) or name in {"exec", "eval"} for name in names):
        return False
    places = [*(statement for node in scope.reach for statement in node.body), *scope.statements]
    return _names_subject(places, scope)


def starts_subject(call: ast.Call, scope: TestScope) -> bool:
    """This very call does: `subprocess.run([sys.executable, SCRIPT], check=True)`."""
    if not _starts(resolve(dotted(call.func), scope.imports)):
        return False
    used = {inner.id for inner in ast.walk(call) if isinstance(inner, ast.Name)}
    bound = [node for node, names, _ in scope.suite.own.assignments if names & used]
    return _names_subject([call, *bound, *_assigned(scope.reach, used)], scope)


def _assigned(functions: Iterable[FunctionNode], names: set[str]) -> Iterator[ast.AST]:
    for node in walk_all(functions):
        if isinstance(node, ast.Assign) and names & {dotted(target) for target in node.targets}:
            yield node.value


def _starts(name: str) -> bool:
    return name.partition(".")[0] in STARTERS or name in LOADERS


def _names_subject(places: Iterable[ast.AST], scope: TestScope) -> bool:
    places = list(places)
    if any(scope.suite.mentions_subject(text) for text in string_constants(places)):
        return True
    return any(is_program(path) for path in _paths(places, scope))


def is_program(path: str) -> bool:
    """A file of the project's source that can be started: `scripts/count.py`, `bin/greet`."""
    name = PurePosixPath(path)
    if name.is_absolute() or ".." in name.parts or " " in path or name.suffix not in _ENDINGS:
        return False
    return (name.suffix != "" or len(name.parts) > 1) and classify_path(path) is PathKind.SOURCE


def _paths(places: Iterable[ast.AST], scope: TestScope) -> Iterator[str]:
    """Texts, and what is put together as `ROOT / "bin" / "greet"` from anything but a directory of the test's own."""
    given = {argument.arg for node in scope.reach for argument in node.args.args}
    for node in walk_all(places):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.endswith((".py", ".sh")):
            yield node.value
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            root, parts = _joined(node)
            if not given & {inner.id for inner in ast.walk(root) if isinstance(inner, ast.Name)}:
                yield "/".join(parts)


def _joined(node: ast.expr) -> tuple[ast.expr, list[str]]:
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)):
        return node, []
    root, parts = _joined(node.left)
    known = isinstance(node.right, ast.Constant) and isinstance(node.right.value, str)
    return root, [*parts, str(node.right.value)] if known and isinstance(node.right, ast.Constant) else parts
