"""Functions of a Go file and its exported signatures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.domain.evidence import Signature
from prd2pr.languages.golang.files import SYNTAX, name_package
from prd2pr.languages.syntax.functions import NamedFunction
from prd2pr.languages.syntax.nodes import get_field, get_text, join_tokens, list_children, walk
from prd2pr.languages.syntax.queries import SyntaxFile

if TYPE_CHECKING:
    from tree_sitter import Node


def is_exported(name: str) -> bool:
    return name[:1].isupper()


def find_functions(file: SyntaxFile) -> Iterator[NamedFunction]:
    for node in list_children(file.root, "function_declaration", "method_declaration"):
        own, owner = get_text(get_field(node, "name")), _read_receiver(node)
        name = f"{owner}.{own}" if owner else own
        # Every error type needs `Error() string`, even if no test reads the text.
        is_error_text = name.endswith(".Error") and _format_parameters(node) == "() string"
        exemption = "every error type needs it, even if no test reads it" if is_error_text else ""
        yield NamedFunction(name, node, all(map(is_exported, name.split("."))), exemption)


def _read_receiver(node: Node) -> str:
    found = get_field(node, "receiver")
    names = [get_text(each) for each in walk(found) if each.type == "type_identifier"] if found is not None else []
    return names[0] if names else ""


def list_statements(body: Node | None) -> list[Node]:
    """Return the statements of a block. Newer grammars wrap them in a list."""
    inner = list_children(body)
    return list_children(inner[0]) if len(inner) == 1 and inner[0].type == "statement_list" else inner


# --- signatures -------------------------------------------------------------------------------------------------------


def list_signatures(path: str, text: str) -> tuple[Signature, ...]:
    file = SYNTAX.read(path, text)
    root, package = file.root, name_package(path, file.root)
    found = {each.name: _format_parameters(each.node) for each in find_functions(file) if each.is_public}
    return tuple(
        Signature(name=f"{package}.{name}", text=shown, path=path)
        for name, shown in sorted({**dict(_list_other_signatures(root)), **found}.items())
    )


def _format_parameters(node: Node) -> str:
    """Return the types of the parameters and results. Parameter names are not part of the signature."""
    given = [_format_parameter(each) for each in list_children(get_field(node, "parameters"))]
    result = get_field(node, "result")
    if result is None:
        shown = ""
    elif result.type == "parameter_list":
        shown = " (" + ", ".join(_format_parameter(each) for each in list_children(result)) + ")"
    else:
        shown = f" {join_tokens(result)}"
    return f"({', '.join(given)}){shown}"


def _format_parameter(node: Node) -> str:
    kind = join_tokens(found) if (found := get_field(node, "type")) is not None else join_tokens(node)
    count = max(len(node.children_by_field_name("name")), 1)
    many = "..." if node.type == "variadic_parameter_declaration" else ""
    return ", ".join([f"{many}{kind}"] * count)


def _list_other_signatures(root: Node) -> Iterator[tuple[str, str]]:
    for declaration in list_children(root, "type_declaration", "const_declaration", "var_declaration"):
        for node in walk(declaration):
            if node.type in {"type_spec", "type_alias"} and is_exported(get_text(get_field(node, "name"))):
                yield get_text(get_field(node, "name")), _format_type(get_field(node, "type"))
            elif node.type in {"const_spec", "var_spec"}:
                for name in node.children_by_field_name("name"):
                    if is_exported(get_text(name)):
                        yield (
                            get_text(name),
                            join_tokens(kind) if (kind := get_field(node, "type")) is not None else "value",
                        )


def _format_type(node: Node | None) -> str:
    """Return the type. A struct is reduced to its exported fields."""
    if node is None or node.type != "struct_type":
        return join_tokens(node) if node is not None else ""
    fields = [each for each in walk(node) if each.type == "field_declaration"]
    shown = [join_tokens(each) for each in fields if any(is_exported(get_text(name)) for name in _list_names(each))]
    return f"struct {{ {'; '.join(shown)} }}"


def _list_names(field: Node) -> list[Node]:
    named = list(field.children_by_field_name("name"))
    return named or [each for each in walk(field) if each.type == "type_identifier"][:1]
