"""The public names of a module, with how they are called. A refactoring leaves them alone."""

from __future__ import annotations

import ast
import copy
import sys
from collections.abc import Container, Iterator

from prd2pr.core.evidence import Signature
from prd2pr.core.testfacts_model import FunctionNode, absolute_module, dotted, parse
from prd2pr.core.testfacts_unroll import UNKNOWN, number

ALIAS = "-> "  # the text of a name that another module defines: `-> shop.rates.earn`
VALUE = "value"  # the text of a constant; a plain one is told: `value 25`
ATTRIBUTE = "attribute"  # the same of a class, whose instances may come to hold it instead
_SPECIAL = "by Python"  # nobody calls `__eq__` by the names of its parameters
_ORDER = ("__lt__", "__le__", "__gt__", "__ge__")
_CALLED_BY_NAME = frozenset({"__init__", "__new__", "__call__"})


def public_signatures(path: str, source: str, *, before: str = "") -> tuple[Signature, ...]:
    """`before`: the module as it was. If it had no `__all__`, a new one takes away nothing that it leaves out."""
    module = module_name(path)
    tree = parse(source)
    if tree is None or not path.endswith(".py") or any(_is_private(part) for part in module.split(".")):
        return ()
    earlier = parse(before)
    exported = _exported(tree) if earlier is None or not before or _exported(earlier) is not None else None
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


def import_names(path: str, files: Container[str]) -> Iterator[str]:
    """The module's name, and those that it has where a directory above it is put on the path.

    `packages/core/src/core/users.py` is `core.users`; a directory without `__init__.py` may be such a place. What would
    then be called like a module of Python is left out: an import of that name finds Python's.
    """
    yield module_name(path)
    *directories, _ = path.split("/")
    for depth in range(1, len(directories) + 1):
        if "/".join([*directories[:depth], "__init__.py"]) in files:
            return
        name = module_name(path.split("/", depth)[depth])
        if name.partition(".")[0] not in sys.stdlib_module_names | {"__init__"}:
            yield name


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
    deleted = {dotted(x) for node in body if isinstance(node, ast.Delete) for x in node.targets}
    for node in body:
        if getattr(node, "name", "") in deleted:
            continue
        if isinstance(node, FunctionNode) and not _is_private(node.name):
            yield node.name, _call_form(node)
        elif isinstance(node, ast.ClassDef) and not _is_private(node.name):
            yield from _inherited(node, body)
            yield from _class_members(node)
        elif isinstance(node, ast.ImportFrom):
            base = absolute_module(node, package)
            yield from ((alias.asname or alias.name, f"{ALIAS}{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            yield from ((name, f"{VALUE}{_told(node.value)}") for name in _names(node) if name not in deleted)


def _names(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [name for target in targets if (name := dotted(target)) and not name.startswith("_")]


def _told(value: ast.expr | None) -> str:
    """A plain value, or the sum of some: ` 25`. What cannot be told here is left out."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str | bytes | bool):
        return f" {value.value!r}"
    found = UNKNOWN if value is None else number(value)
    return "" if found is UNKNOWN else f" {found!r}"


def _class_members(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    yield node.name, f"class({', '.join(ast.unparse(base) for base in node.bases)})"
    made = _made_by_dataclass(node)
    yield from ((f"{node.name}.{name}", text) for name, text in made.items())
    for item in node.body:
        if isinstance(item, FunctionNode) and not _is_private(item.name):
            yield f"{node.name}.{item.name}", _call_form(item)
        elif isinstance(item, ast.Assign | ast.AnnAssign):
            yield from ((f"{node.name}.{name}", text) for name in _names(item) if (text := _attribute(item.value)))


def _inherited(node: ast.ClassDef, body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """What its parents in the same module bring along, private ones too: for callers it is the class's own."""
    classes = {each.name: each for each in body if isinstance(each, ast.ClassDef)}
    line, met = [node], {node.name}
    for child in line:  # grows while it is walked
        for base in child.bases:
            parent = classes.get(dotted(base))
            if parent is not None and parent.name not in met:
                met.add(parent.name)
                line.append(parent)
    for parent in reversed(line[1:]):
        for name, text in _class_members(parent):
            if "." in name and not text.startswith(ATTRIBUTE):
                yield f"{node.name}.{name.partition('.')[2]}", text


def _attribute(value: ast.expr | None) -> str:
    told = _told(value)
    return f"{ATTRIBUTE}{told}" if told else ""


def _made_by_dataclass(node: ast.ClassDef) -> dict[str, str]:
    """The methods that `@dataclass` writes: whoever wrote them by hand before may leave them to it."""
    marks = [x for x in node.decorator_list if dotted(x.func if isinstance(x, ast.Call) else x).endswith("dataclass")]
    if not marks:
        return {}
    keywords = marks[0].keywords if isinstance(marks[0], ast.Call) else []
    off = {each.arg for each in keywords if isinstance(each.value, ast.Constant) and not each.value.value}
    on = {each.arg for each in keywords} - off
    fields = [x for x in node.body if isinstance(x, ast.AnnAssign) and not _is_of_class(x)]
    arguments = [f"{dotted(x.target)}{_default(x.value)}" for x in fields]
    star = ["*"] if "kw_only" in on and arguments else []
    made = {"__eq__": _SPECIAL, "__repr__": _SPECIAL} | dict.fromkeys(_ORDER if "order" in on else (), _SPECIAL)
    if not node.bases:
        made["__init__"] = f"({', '.join(['self', *star, *arguments])})"
    if {"frozen", "unsafe_hash"} & on:
        made["__hash__"] = _SPECIAL
    return {name: text for name, text in made.items() if name.strip("_") not in off}


def _is_of_class(node: ast.AnnAssign) -> bool:
    return "ClassVar" in ast.unparse(node.annotation)


def _default(value: ast.expr | None) -> str:
    if value is None:
        return ""
    if not isinstance(value, ast.Call) or dotted(value.func).rpartition(".")[2] != "field":
        return f"={ast.unparse(value)}"
    told = {keyword.arg: ast.unparse(keyword.value) for keyword in value.keywords}
    if "default" in told:
        return f"={told['default']}"
    return "=None" if "default_factory" in told else ""  # as it is written by hand: None stands for a fresh one


def _call_form(node: FunctionNode) -> str:
    """The parameters without their annotations: these change nothing for a caller."""
    if node.name.startswith("__") and node.name not in _CALLED_BY_NAME and node.name.endswith("__"):
        return _SPECIAL
    arguments = copy.deepcopy(node.args)
    for argument in ast.walk(arguments):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    kinds = {dotted(item) for item in node.decorator_list} & {"property", "staticmethod", "classmethod"}
    prefix = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    return f"{prefix}{''.join(f'{kind} ' for kind in sorted(kinds))}({ast.unparse(arguments)})"
