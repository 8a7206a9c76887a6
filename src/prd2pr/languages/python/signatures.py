"""Lists the public names of a module with their signatures, which a refactoring must not change."""

from __future__ import annotations

import ast
import copy
import sys
from collections.abc import Container, Iterator

from prd2pr.domain.evidence import Signature
from prd2pr.languages.python.test_model.constants import UNKNOWN, evaluate_number
from prd2pr.languages.python.test_model.module import (
    FunctionNode,
    get_absolute_module,
    get_dotted_name,
    parse_python,
    unparse_node,
)

ALIAS = "-> "  # signature of a name that another module defines: `-> shop.rates.earn`
VALUE = "value"  # signature of a constant, with its value if it is simple: `value 25`
ATTRIBUTE = "attribute"  # the same for a class attribute, which instances may override
_SPECIAL = "by Python"  # special methods, which are not called with parameter names
_ORDER = ("__lt__", "__le__", "__gt__", "__ge__")
_CALLED_BY_NAME = frozenset({"__init__", "__new__", "__call__"})


def list_public_signatures(path: str, source: str, *, before: str = "") -> tuple[Signature, ...]:
    """Return the signatures of the public names.

    `before` is the old module. If it had no `__all__`, a new `__all__` does not hide any names.
    """
    module = get_module_name(path)
    tree = parse_python(source)
    if tree is None or not path.endswith(".py") or any(_is_private(part) for part in module.split(".")):
        return ()
    old_tree = parse_python(before)
    exported = (
        _read_all_names(tree) if old_tree is None or not before or _read_all_names(old_tree) is not None else None
    )
    found = {
        name: text
        for name, text in _list_module_members(tree.body, module, path)
        if (name.split(".")[0] in exported if exported is not None else True)
    }
    return tuple(Signature(name=f"{module}.{name}", text=text, path=path) for name, text in sorted(found.items()))


def list_instance_attributes(path: str, source: str) -> tuple[Signature, ...]:
    """Return the public attributes of classes that have no signature: fields without a value, and `self.name = …`."""
    module, tree = get_module_name(path), parse_python(source)
    found = {
        f"{module}.{node.name}.{name}": None
        for node in (tree.body if tree else ())
        if isinstance(node, ast.ClassDef)
        for name in _iter_instance_attributes(node)
        if not _is_private(name)
    }
    return tuple(Signature(name=name, text=ATTRIBUTE, path=path) for name in found)


def _iter_instance_attributes(node: ast.ClassDef) -> Iterator[str]:
    for each in ast.walk(node):
        match each:
            case ast.AnnAssign(target=ast.Name(id=name), value=None) if each in node.body:
                yield name
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                yield name


def get_module_name(path: str) -> str:
    """Return the module name, such as `shop.points` for `src/shop/points.py`.

    A package has the name of its directory.
    """
    parts = path.removesuffix(".py").split("/")
    if parts[0] in {"src", "lib"} and len(parts) > 1:
        parts = parts[1:]
    if parts[-1] == "__init__" and len(parts) > 1:
        parts = parts[:-1]
    return ".".join(parts)


def list_import_names(path: str, files: Container[str]) -> Iterator[str]:
    """Yield the names under which a module can be imported, depending on which directory above it is on the path.

    `packages/core/src/core/users.py` is `core.users`, and any directory without `__init__.py` may be on the path. Names
    of standard library modules are left out, because importing them finds the standard library.
    """
    yield get_module_name(path)
    *directories, _ = path.split("/")
    for depth in range(1, len(directories) + 1):
        if "/".join([*directories[:depth], "__init__.py"]) in files:
            return
        name = get_module_name(path.split("/", depth)[depth])
        if name.partition(".")[0] not in sys.stdlib_module_names | {"__init__"}:
            yield name


def list_module_imports(path: str, text: str) -> set[str]:
    """Return the dotted names of all modules, or names in modules, that a file imports."""
    tree, module = parse_python(text), get_module_name(path)
    package = module if path.endswith("__init__.py") else module.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = get_absolute_module(node, package)
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return found


def _is_private(name: str) -> bool:
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def _read_all_names(tree: ast.Module) -> frozenset[str] | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and get_dotted_name(node.targets[0]) == "__all__":
            constants = (item.value for item in ast.walk(node.value) if isinstance(item, ast.Constant))
            return frozenset(value for value in constants if isinstance(value, str))
    return None


def _list_module_members(body: list[ast.stmt], module: str, path: str) -> Iterator[tuple[str, str]]:
    package = module if path.endswith("__init__.py") else module.rpartition(".")[0]
    deleted = {get_dotted_name(x) for node in body if isinstance(node, ast.Delete) for x in node.targets}
    for node in body:
        if getattr(node, "name", "") in deleted:
            continue
        if isinstance(node, FunctionNode) and not _is_private(node.name):
            yield node.name, _render_call_signature(node)
        elif isinstance(node, ast.ClassDef) and not _is_private(node.name):
            yield from _list_inherited_members(node, body)
            yield from _list_class_members(node)
        elif isinstance(node, ast.ImportFrom):
            base = get_absolute_module(node, package)
            yield from ((alias.asname or alias.name, f"{ALIAS}{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            yield from (
                (name, f"{VALUE}{_render_literal(node.value)}")
                for name in _list_assigned_names(node)
                if name not in deleted
            )


def _list_assigned_names(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [name for target in targets if (name := get_dotted_name(target)) and not name.startswith("_")]


def _render_literal(value: ast.expr | None) -> str:
    """Render a simple value or a sum of simple values, such as ` 25`.

    Return an empty string if it cannot be computed here.
    """
    if isinstance(value, ast.Constant) and isinstance(value.value, str | bytes | bool):
        return f" {value.value!r}"
    found = UNKNOWN if value is None else evaluate_number(value)
    return "" if found is UNKNOWN else f" {found!r}"


def _list_class_members(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    yield node.name, f"class({', '.join(unparse_node(base) for base in node.bases)})"
    made = _list_dataclass_methods(node)
    yield from ((f"{node.name}.{name}", text) for name, text in made.items())
    for item in node.body:
        if isinstance(item, FunctionNode) and not _is_private(item.name):
            yield f"{node.name}.{item.name}", _render_call_signature(item)
        elif isinstance(item, ast.Assign | ast.AnnAssign):
            yield from (
                (f"{node.name}.{name}", text)
                for name in _list_assigned_names(item)
                if (text := _render_attribute(item.value))
            )


def _list_inherited_members(node: ast.ClassDef, body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Yield the members inherited from classes in the same module, including private ones.

    Callers see them as members of the class itself.
    """
    classes = {each.name: each for each in body if isinstance(each, ast.ClassDef)}
    ancestors, visited = [node], {node.name}
    for child in ancestors:  # the list grows during the loop
        for base in child.bases:
            parent = classes.get(get_dotted_name(base))
            if parent is not None and parent.name not in visited:
                visited.add(parent.name)
                ancestors.append(parent)
    for parent in reversed(ancestors[1:]):
        for name, text in _list_class_members(parent):
            if "." in name and not text.startswith(ATTRIBUTE):
                yield f"{node.name}.{name.partition('.')[2]}", text


def _render_attribute(value: ast.expr | None) -> str:
    text = _render_literal(value)
    return f"{ATTRIBUTE}{text}" if text else ""


def _list_dataclass_methods(node: ast.ClassDef) -> dict[str, str]:
    """Return the methods that `@dataclass` generates, which may replace handwritten ones."""
    decorators = [
        x
        for x in node.decorator_list
        if get_dotted_name(x.func if isinstance(x, ast.Call) else x).endswith("dataclass")
    ]
    if not decorators:
        return {}
    keywords = decorators[0].keywords if isinstance(decorators[0], ast.Call) else []
    disabled = {each.arg for each in keywords if isinstance(each.value, ast.Constant) and not each.value.value}
    enabled = {each.arg for each in keywords} - disabled
    fields = [x for x in node.body if isinstance(x, ast.AnnAssign) and not _is_class_variable(x)]
    arguments = [f"{get_dotted_name(x.target)}{_render_default(x.value)}" for x in fields]
    star = ["*"] if "kw_only" in enabled and arguments else []
    methods = {"__eq__": _SPECIAL, "__repr__": _SPECIAL} | dict.fromkeys(_ORDER if "order" in enabled else (), _SPECIAL)
    if not node.bases:
        methods["__init__"] = f"({', '.join(['self', *star, *arguments])})"
    if {"frozen", "unsafe_hash"} & enabled:
        methods["__hash__"] = _SPECIAL
    return {name: text for name, text in methods.items() if name.strip("_") not in disabled}


def _is_class_variable(node: ast.AnnAssign) -> bool:
    return "ClassVar" in unparse_node(node.annotation)


def _render_default(value: ast.expr | None) -> str:
    if value is None:
        return ""
    if not isinstance(value, ast.Call) or get_dotted_name(value.func).rpartition(".")[2] != "field":
        return f"={unparse_node(value)}"
    options = {keyword.arg: unparse_node(keyword.value) for keyword in value.keywords}
    if "default" in options:
        return f"={options['default']}"
    return "=None" if "default_factory" in options else ""  # as if written by hand, where None means a new object


def _render_call_signature(node: FunctionNode) -> str:
    """Render the parameters without annotations, which do not matter to a caller."""
    if node.name.startswith("__") and node.name not in _CALLED_BY_NAME and node.name.endswith("__"):
        return _SPECIAL
    arguments = copy.deepcopy(node.args)
    for argument in ast.walk(arguments):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    kinds = {get_dotted_name(item) for item in node.decorator_list} & {"property", "staticmethod", "classmethod"}
    prefix = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    return f"{prefix}{''.join(f'{kind} ' for kind in sorted(kinds))}({unparse_node(arguments)})"
