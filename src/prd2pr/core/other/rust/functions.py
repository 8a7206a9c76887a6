"""Functions of a Rust file: which are public, how they are called, and how each is knocked out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from prd2pr.core.bite.plan import Fault
from prd2pr.core.evidence import Signature
from prd2pr.core.other.faults import knock_out
from prd2pr.core.other.measuring import Measured
from prd2pr.core.other.measuring import measure as measured
from prd2pr.core.other.rust.files import GRAMMAR, module_of, root_of
from prd2pr.core.other.rust.items import Item, items_in, plain_type
from prd2pr.core.other.syntax import children, part, text_of, tokens

if TYPE_CHECKING:
    from tree_sitter import Node

# The condition keeps the rest reachable for the compiler, which else may refuse to build it.
KNOCKED_OUT = ' if true { panic!("knocked out") } '
_ERROR = re.compile(r"\bimpl\s+(?:(?:std::|core::)?error::)?Error\s+for\s+(\w+)")
_TYPES = frozenset({"struct_item", "enum_item", "trait_item", "union_item", "type_item"})
# What an `impl` of these holds, the compiler may as well write.
_DERIVABLE = frozenset({"Clone", "Copy", "Debug", "Default", "Eq", "Hash", "Ord", "PartialEq", "PartialOrd"})
_VALUES = frozenset({"const_item", "static_item"})


def functions_in(root: Node) -> Iterator[Item]:
    """Those that the program has; what exists for tests alone is left out."""
    return (item for item in items_in(root) if item.node.type == "function_item" and not item.in_tests)


def full_name(item: Item) -> str:
    of = f"{item.owner}({item.trait})" if item.trait else item.owner
    return ".".join(filter(None, (*item.modules, of, item.name)))


# --- signatures -------------------------------------------------------------------------------------------------------


def public_signatures(path: str, text: str) -> tuple[Signature, ...]:
    module = module_of(path)
    found = dict(_signatures(root_of(text)))
    return tuple(Signature(name=f"{module}.{name}", text=shown, path=path) for name, shown in sorted(found.items()))


def _signatures(root: Node) -> Iterator[tuple[str, str]]:
    for item in items_in(root):
        if item.node.type == "impl_item" and not item.in_tests and (trait := plain_type(part(item.node, "trait"))):
            owner = ".".join((*item.modules, plain_type(part(item.node, "type"))))
            yield f"{owner}({trait})", "implemented"
        if item.in_tests or not (item.is_public or item.trait) or item.trait in _DERIVABLE:
            continue
        if item.node.type in _TYPES and not item.trait:
            yield from ((f"{full_name(item)}({trait})", "implemented") for trait in _derived(item))
        if item.node.type in {"function_item", "function_signature_item"}:
            yield full_name(item), _parameters(item.node)
        elif item.node.type in _TYPES and not item.trait:
            yield full_name(item), _shape(item.node)
        elif item.node.type in _VALUES:
            yield full_name(item), tokens(kind) if (kind := part(item.node, "type")) is not None else "value"


def _derived(item: Item) -> Iterator[str]:
    """What may as well be written out as an `impl`: by the same name."""
    for attribute in item.attributes:
        if attribute.startswith("derive ("):
            names = (each.replace(" ", "").rpartition("::")[2] for each in attribute[8:-1].split(","))
            yield from filter(None, names)


def _parameters(node: Node) -> str:
    """Types alone: what a parameter is called is nobody's business but the function's own."""
    given = []
    for each in children(part(node, "parameters")):
        kind = part(each, "type")
        given.append(tokens(kind) if kind is not None else tokens(each))
    result = part(node, "return_type")
    kinds = " ".join(text_of(each) for each in node.children if each.type in {"function_modifiers", "type_parameters"})
    return f"{kinds}({', '.join(given)})" + (f" -> {tokens(result)}" if result is not None else "")


def _shape(node: Node) -> str:
    """Of a struct the public fields; of anything else all of it."""
    body = part(node, "body")
    if node.type != "struct_item" or body is None:
        return tokens(body) if body is not None else tokens(part(node, "type") or node)
    if body.type == "ordered_field_declaration_list":
        return f"struct ( {', '.join(_by_number(body))} )"
    shown = [
        tokens(each)
        for each in children(body, "field_declaration")
        if any(inner.type == "visibility_modifier" for inner in each.children)
    ]
    return f"struct {{ {', '.join(shown)} }}"


def _by_number(body: Node) -> Iterator[str]:
    """Public fields of a struct without names: `0: i64`."""
    public, number = False, 0
    for each in children(body):
        if each.type == "visibility_modifier":
            public = text_of(each) == "pub"
        elif each.type != "attribute_item":
            if public:
                yield f"{number}: {tokens(each)}"
            public, number = False, number + 1


# --- knock-out and measures -------------------------------------------------------------------------------------------


def changed_functions(before: str, after: str) -> Iterator[Item]:
    """New ones, and those that were changed, as far as they do something."""
    old = {full_name(each): tokens(each.node) for each in functions_in(root_of(before))} if before else {}
    for each in functions_in(root_of(after)):
        changed = old.get(full_name(each)) != tokens(each.node)
        if changed and children(part(each.node, "body")) and not (each.name == "main" and not each.modules):
            yield each


def knock_outs(path: str, before: str, after: str) -> tuple[Fault, ...]:
    """Every function that is new or was changed, with a body that panics at once."""
    errors = {each.owner for each in functions_in(root_of(after))} & set(_ERROR.findall(after))
    return tuple(
        knock_out(path, full_name(each), each.node, body, KNOCKED_OUT, excused=_excuse(each, errors))
        for each in changed_functions(before, after)
        if (body := part(each.node, "body")) is not None
    )


def _excuse(item: Item, errors: set[str]) -> str:
    """`Display` of an error: without it the type is none, whether or not a test reads its text."""
    asked = item.owner in errors and item.trait == "Display"
    return "every error has to have it, and no test reads it" if asked else ""


_MEASURED = Measured(
    GRAMMAR,
    lambda root: [each.node for each in functions_in(root)],
    frozenset(
        {"if_expression", "for_expression", "while_expression", "loop_expression", "match_arm", "try_expression"}
    ),
)


def measure(texts: Mapping[str, str]) -> dict[str, int]:
    return measured(_MEASURED, texts)


def program_of(_: str, text: str) -> str:
    return tokens(root_of(text))
