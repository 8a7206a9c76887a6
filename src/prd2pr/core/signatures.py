"""The public names of a module, with how they are called. A refactoring leaves them alone."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from prd2pr.core.evidence import Signature
from prd2pr.core.testfacts_model import FunctionNode, absolute_module, dotted, parse

ALIAS = "-> "  # the text of a name that another module defines: `-> shop.rates.earn`
VALUE = "value"  # the text of a constant


def public_signatures(path: str, source: str) -> tuple[Signature, ...]:
    module = module_name(path)
    tree = parse(source)
    if tree is None or not path.endswith(".py") or any(_is_private(part) for part in module.split(".")):
        return ()
    exported = _exported(tree)
    found = {
        name: text
        for name, text in _members(tree.body, module, path)
        if (name.split(".")[0] in exported if exported is not None else True)
    }
    return tuple(Signature(name=f"{module}.{name}", text=text, path=path) for name, text in sorted(found.items()))


def module_name(path: str) -> str:
    """`src/shop/points.py` -> `shop.points`; a package is its directory."""
    parts = path.removesuffix(".py").split("/")
    if parts[0] in {"src", "lib"} and len(parts) > 1:
        parts = parts[1:]
    if parts[-1] == "__init__" and len(parts) > 1:
        parts = parts[:-1]
    return ".".join(parts)


def _is_private(name: str) -> bool:
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def _exported(tree: ast.Module) -> frozenset[str] | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and dotted(node.targets[0]) == "__all__":
            constants = (item.value for item in ast.walk(node.value) if isinstance(item, ast.Constant))
            return frozenset(value for value in constants if isinstance(value, str))
    return None


def _members(body: list[ast.stmt], module: str, path: str) -> Iterator[tuple[str, str]]:
    package = module if path.endswith("__init__.py") else module.rpartition(".")[0]
    for node in body:
        if isinstance(node, FunctionNode) and not _is_private(node.name):
            yield node.name, _call_form(node)
        elif isinstance(node, ast.ClassDef) and not _is_private(node.name):
            yield from _class_members(node)
        elif isinstance(node, ast.ImportFrom):
            base = absolute_module(node, package)
            yield from ((alias.asname or alias.name, f"{ALIAS}{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((name, VALUE) for target in targets if (name := dotted(target)) and not name.startswith("_"))


def _class_members(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    yield node.name, "class"
    for item in node.body:
        if isinstance(item, FunctionNode) and not _is_private(item.name):
            yield f"{node.name}.{item.name}", _call_form(item)


def _call_form(node: FunctionNode) -> str:
    """The parameters without their annotations: these change nothing for a caller."""
    arguments = copy.deepcopy(node.args)
    for argument in ast.walk(arguments):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    kinds = {dotted(item) for item in node.decorator_list} & {"property", "staticmethod", "classmethod"}
    prefix = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    return f"{prefix}{''.join(f'{kind} ' for kind in sorted(kinds))}({ast.unparse(arguments)})"
