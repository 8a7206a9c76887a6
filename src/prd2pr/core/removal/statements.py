"""What a file lost: whole statements, with nothing else changed."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from prd2pr.core.testfacts_model import FunctionNode, parse


@dataclass(frozen=True)
class Loss:
    """`only`: nothing was added or changed. Imports that are not needed any more are not listed."""

    path: str
    statements: tuple[ast.stmt, ...] = ()
    only: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for node in self.statements for name in bound(node))


def loss(path: str, before: str, after: str | None) -> Loss:
    old, new = parse(before), parse(after or "")
    if old is None or new is None:
        return Loss(path, only=False)
    rest = list(new.body)
    gone: list[ast.stmt] = []
    for node in old.body:
        if rest and _is_kept(node, rest[0]):
            rest.pop(0)
        elif not isinstance(node, ast.Import | ast.ImportFrom) and not _is_docstring(node):
            gone.append(node)
    return Loss(path, tuple(gone), only=not rest)


def bound(node: ast.stmt) -> tuple[str, ...]:
    """The names that a statement of a module binds; none for what does something on import."""
    if isinstance(node, FunctionNode | ast.ClassDef):
        return (node.name,)
    if isinstance(node, ast.Assign):
        return tuple(target.id for target in node.targets if isinstance(target, ast.Name))
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return (node.target.id,)
    return ()


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_kept(old: ast.stmt, new: ast.stmt) -> bool:
    """The same, or an import of fewer names."""
    if isinstance(old, ast.ImportFrom) and isinstance(new, ast.ImportFrom):
        fewer = {ast.dump(name) for name in new.names} <= {ast.dump(name) for name in old.names}
        return fewer and (old.module, old.level) == (new.module, new.level)
    return ast.dump(old) == ast.dump(new)
