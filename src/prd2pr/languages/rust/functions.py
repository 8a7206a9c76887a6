"""Functions of a Rust file and its public signatures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.domain.evidence import Signature
from prd2pr.languages.rust.files import SYNTAX, name_module
from prd2pr.languages.rust.items import Item, find_items, strip_type_arguments
from prd2pr.languages.syntax.functions import NamedFunction
from prd2pr.languages.syntax.nodes import get_field, get_text, join_tokens, list_children
from prd2pr.languages.syntax.queries import SyntaxFile

if TYPE_CHECKING:
    from tree_sitter import Node

_ERROR = re.compile(r"\bimpl\s+(?:(?:std::|core::)?error::)?Error\s+for\s+(\w+)")
_TYPES = frozenset({"struct_item", "enum_item", "trait_item", "union_item", "type_item"})
# Traits that the compiler can derive.
_DERIVABLE = frozenset({"Clone", "Copy", "Debug", "Default", "Eq", "Hash", "Ord", "PartialEq", "PartialOrd"})
_VALUES = frozenset({"const_item", "static_item"})


def find_functions(file: SyntaxFile) -> Iterator[NamedFunction]:
    """Yield the program's functions, except those that exist only for tests."""
    errors = set(_ERROR.findall(file.text))
    for item in find_items(file.root):
        if item.node.type == "function_item" and not item.in_tests:
            # Every error type needs `Display`, even if no test reads the text.
            is_error_text = item.owner in errors and item.trait == "Display"
            exemption = "every error type needs it, even if no test reads it" if is_error_text else ""
            yield NamedFunction(format_item_name(item), item.node, item.is_public, exemption)


def format_item_name(item: Item) -> str:
    of = f"{item.owner}({item.trait})" if item.trait else item.owner
    return ".".join(filter(None, (*item.modules, of, item.name)))


# --- signatures -------------------------------------------------------------------------------------------------------


def list_signatures(path: str, text: str) -> tuple[Signature, ...]:
    module = name_module(path)
    found = dict(_walk_signatures(SYNTAX.read(path, text).root))
    return tuple(Signature(name=f"{module}.{name}", text=shown, path=path) for name, shown in sorted(found.items()))


def _walk_signatures(root: Node) -> Iterator[tuple[str, str]]:
    for item in find_items(root):
        if (
            item.node.type == "impl_item"
            and not item.in_tests
            and (trait := strip_type_arguments(get_field(item.node, "trait")))
        ):
            owner = ".".join((*item.modules, strip_type_arguments(get_field(item.node, "type"))))
            yield f"{owner}({trait})", "implemented"
        if item.in_tests or not (item.is_public or item.trait) or item.trait in _DERIVABLE:
            continue
        if item.node.type in _TYPES and not item.trait:
            yield from ((f"{format_item_name(item)}({trait})", "implemented") for trait in _list_derived(item))
        if item.node.type in {"function_item", "function_signature_item"}:
            yield format_item_name(item), _format_parameters(item.node)
        elif item.node.type in _TYPES and not item.trait:
            yield format_item_name(item), _format_shape(item.node)
        elif item.node.type in _VALUES:
            yield (
                format_item_name(item),
                join_tokens(kind) if (kind := get_field(item.node, "type")) is not None else "value",
            )


def _list_derived(item: Item) -> Iterator[str]:
    """Yield the derived traits, which are equivalent to an `impl`."""
    for attribute in item.attributes:
        if attribute.startswith("derive ("):
            names = (each.replace(" ", "").rpartition("::")[2] for each in attribute[8:-1].split(","))
            yield from filter(None, names)


def _format_parameters(node: Node) -> str:
    """Return the types of the parameters and results. Parameter names are not part of the signature."""
    given = []
    for each in list_children(get_field(node, "parameters")):
        kind = get_field(each, "type")
        given.append(join_tokens(kind) if kind is not None else join_tokens(each))
    result = get_field(node, "return_type")
    kinds = " ".join(get_text(each) for each in node.children if each.type in {"function_modifiers", "type_parameters"})
    return f"{kinds}({', '.join(given)})" + (f" -> {join_tokens(result)}" if result is not None else "")


def _format_shape(node: Node) -> str:
    """Return the public fields of a struct as text, or the whole definition of another type."""
    body = get_field(node, "body")
    if node.type != "struct_item" or body is None:
        return join_tokens(body) if body is not None else join_tokens(get_field(node, "type") or node)
    if body.type == "ordered_field_declaration_list":
        return f"struct ( {', '.join(_format_numbered_fields(body))} )"
    shown = [
        join_tokens(each)
        for each in list_children(body, "field_declaration")
        if any(inner.type == "visibility_modifier" for inner in each.children)
    ]
    return f"struct {{ {', '.join(shown)} }}"


def _format_numbered_fields(body: Node) -> Iterator[str]:
    """Yield the public fields of a tuple struct, such as `0: i64`."""
    public, number = False, 0
    for each in list_children(body):
        if each.type == "visibility_modifier":
            public = get_text(each) == "pub"
        elif each.type != "attribute_item":
            if public:
                yield f"{number}: {join_tokens(each)}"
            public, number = False, number + 1
