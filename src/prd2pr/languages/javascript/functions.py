"""Functions of a JavaScript file: public signatures and knock-outs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.domain.evidence import Signature
from prd2pr.languages.javascript.files import name_module
from prd2pr.languages.javascript.grammar import FUNCTION_KINDS, SYNTAX
from prd2pr.languages.syntax.functions import NamedFunction
from prd2pr.languages.syntax.nodes import get_field, get_text, join_tokens, list_children, walk
from prd2pr.languages.syntax.queries import SyntaxFile

if TYPE_CHECKING:
    from tree_sitter import Node

_CLASSES = frozenset({"class_declaration", "class", "abstract_class_declaration"})


def find_functions(file: SyntaxFile) -> Iterator[NamedFunction]:
    """Yield named functions: declarations, methods, and functions bound to a name at the top level or in a class."""
    exported = _find_exported(file.root)
    for node in walk(file.root):
        if node.type not in FUNCTION_KINDS:
            continue
        name = _read_name(node)
        if name:
            outermost = name.partition(".")[0]
            yield NamedFunction(name, node, outermost in exported and not name.rpartition(".")[2].startswith("#"))


def _read_name(node: Node) -> str:
    """Return the name. It is empty for callbacks and inner functions, which belong to their outer function."""
    own = get_text(get_field(node, "name"))
    parent = node.parent
    if parent is None or _is_inside(node):
        return ""
    if node.type == "method_definition":
        owner = _read_class_name(parent.parent)
        return f"{owner}.{own}" if owner else ""
    return own or _read_bound_name(parent)


def _read_bound_name(parent: Node) -> str:
    """Return the name to which an anonymous function is bound."""
    if parent.type == "variable_declarator":
        return get_text(get_field(parent, "name"))
    if parent.type in {"field_definition", "public_field_definition"}:
        holder = parent.parent.parent if parent.parent is not None else None
        return f"{_read_class_name(holder)}.{get_text(get_field(parent, 'property') or get_field(parent, 'name'))}"
    if parent.type == "assignment_expression":
        return _strip_exports(get_text(get_field(parent, "left")))
    if parent.type == "pair":
        return get_text(get_field(parent, "key")) if _is_exported_object(parent) else ""
    return "default" if parent.type == "export_statement" else ""


def _strip_exports(left: str) -> str:
    for prefix in ("module.exports.", "exports."):
        left = left.removeprefix(prefix)
    return "default" if left == "module.exports" else left.replace(".prototype.", ".")


def _is_exported_object(pair: Node) -> bool:
    holder = pair.parent.parent if pair.parent is not None else None
    return holder is not None and holder.type in {"assignment_expression", "export_statement", "variable_declarator"}


def _read_class_name(node: Node | None) -> str:
    if node is None or node.type not in _CLASSES:
        return ""
    named = get_text(get_field(node, "name"))
    bound = node.parent if node.parent is not None and node.parent.type == "variable_declarator" else None
    return named or get_text(get_field(bound, "name")) or "default"


def _is_inside(node: Node) -> bool:
    parent = node.parent
    while parent is not None:
        if parent.type in FUNCTION_KINDS:
            return True
        parent = parent.parent
    return False


def _find_exported(root: Node) -> frozenset[str]:
    found: set[str] = set()
    for node in walk(root):
        if node.type == "export_statement":
            found |= set(_list_exported(node))
        elif node.type == "assignment_expression" and get_text(get_field(node, "left")).startswith(
            ("module.exports", "exports.")
        ):
            found |= set(_list_assigned(node))
    return frozenset(found)


def _list_exported(node: Node) -> Iterator[str]:
    declared = get_field(node, "declaration")
    if any(each.type == "default" for each in node.children):
        yield "default"
    if declared is not None:
        name = get_field(declared, "name")
        yield from [get_text(name)] if name is not None else []
        for each in list_children(declared, "variable_declarator"):
            yield get_text(get_field(each, "name"))
    for clause in list_children(node, "export_clause"):
        for specifier in list_children(clause):
            yield get_text(get_field(specifier, "name"))
    value = get_field(node, "value")
    yield from [get_text(value)] if value is not None and value.type == "identifier" else []


def _list_assigned(node: Node) -> Iterator[str]:
    left, right = get_text(get_field(node, "left")), get_field(node, "right")
    name = left.removeprefix("module.").removeprefix("exports").lstrip(".")
    yield name or "default"
    if right is None:
        return
    if right.type == "identifier":
        yield get_text(right)
    for each in list_children(right) if right.type == "object" else ():
        yield get_text(get_field(each, "key") or each)


# --- signatures -------------------------------------------------------------------------------------------------------


def list_signatures(path: str, text: str) -> tuple[Signature, ...]:
    file, module = SYNTAX.read(path, text), name_module(path)
    found = {each.name: _format_parameters(each.node) for each in find_functions(file) if each.is_public}
    others = {name: "value" for name in _find_exported(file.root) if name and name not in found}
    return tuple(
        Signature(name=f"{module}.{name}", text=text, path=path) for name, text in sorted({**others, **found}.items())
    )


def _format_parameters(node: Node) -> str:
    alone = get_field(node, "parameter")
    given = [alone] if alone is not None else list_children(get_field(node, "parameters"))
    kinds = [word for word in ("static", "get", "set", "async") if any(each.type == word for each in node.children)]
    result = get_field(node, "return_type")
    shown = ", ".join(join_tokens(each) for each in given)
    return " ".join([*kinds, f"({shown})"]) + (f" {join_tokens(result)}" if result is not None else "")
