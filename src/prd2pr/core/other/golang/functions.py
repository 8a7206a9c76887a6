"""Functions of a Go file: which are exported, how they are called, and how each is knocked out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.core.bite.plan import Fault
from prd2pr.core.evidence import Signature
from prd2pr.core.other.faults import knock_out
from prd2pr.core.other.golang.files import GRAMMAR, named_package, root_of
from prd2pr.core.other.measuring import Measured
from prd2pr.core.other.measuring import measure as measured
from prd2pr.core.other.syntax import children, part, text_of, tokens, walk

if TYPE_CHECKING:
    from tree_sitter import Node

KNOCKED_OUT = ' panic("knocked out"); '
_STARTED_BY_GO = frozenset({"main", "init"})


@dataclass(frozen=True)
class Function:
    name: str  # with its receiver's type: Cart.Add
    node: Node

    @property
    def body(self) -> Node | None:
        return part(self.node, "body")

    @property
    def is_exported(self) -> bool:
        return all(is_exported(each) for each in self.name.split("."))


def is_exported(name: str) -> bool:
    return name[:1].isupper()


def functions_in(root: Node) -> Iterator[Function]:
    for node in children(root, "function_declaration", "method_declaration"):
        name = text_of(part(node, "name"))
        owner = _receiver(node)
        yield Function(f"{owner}.{name}" if owner else name, node)


def _receiver(node: Node) -> str:
    found = part(node, "receiver")
    names = [text_of(each) for each in walk(found) if each.type == "type_identifier"] if found is not None else []
    return names[0] if names else ""


def statements(body: Node | None) -> list[Node]:
    """Of a block; newer grammars put a list in between."""
    inner = children(body)
    return children(inner[0]) if len(inner) == 1 and inner[0].type == "statement_list" else inner


# --- signatures -------------------------------------------------------------------------------------------------------


def public_signatures(path: str, text: str) -> tuple[Signature, ...]:
    root = root_of(text)
    package = named_package(path, root)
    found = {each.name: _parameters(each.node) for each in functions_in(root) if each.is_exported}
    return tuple(
        Signature(name=f"{package}.{name}", text=shown, path=path)
        for name, shown in sorted({**dict(_others(root)), **found}.items())
    )


def _parameters(node: Node) -> str:
    """Names of parameters are nobody's business but the function's own."""
    given = [_parameter(each) for each in children(part(node, "parameters"))]
    result = part(node, "result")
    if result is None:
        shown = ""
    elif result.type == "parameter_list":
        shown = " (" + ", ".join(_parameter(each) for each in children(result)) + ")"
    else:
        shown = f" {tokens(result)}"
    return f"({', '.join(given)}){shown}"


def _parameter(node: Node) -> str:
    kind = tokens(found) if (found := part(node, "type")) is not None else tokens(node)
    count = max(len(node.children_by_field_name("name")), 1)
    many = "..." if node.type == "variadic_parameter_declaration" else ""
    return ", ".join([f"{many}{kind}"] * count)


def _others(root: Node) -> Iterator[tuple[str, str]]:
    for declaration in children(root, "type_declaration", "const_declaration", "var_declaration"):
        for node in walk(declaration):
            if node.type in {"type_spec", "type_alias"} and is_exported(text_of(part(node, "name"))):
                yield text_of(part(node, "name")), _type(part(node, "type"))
            elif node.type in {"const_spec", "var_spec"}:
                for name in node.children_by_field_name("name"):
                    if is_exported(text_of(name)):
                        yield text_of(name), tokens(kind) if (kind := part(node, "type")) is not None else "value"


def _type(node: Node | None) -> str:
    """Of a struct the exported fields alone."""
    if node is None or node.type != "struct_type":
        return tokens(node) if node is not None else ""
    fields = [each for each in walk(node) if each.type == "field_declaration"]
    shown = [tokens(each) for each in fields if any(is_exported(text_of(name)) for name in _names(each))]
    return f"struct {{ {'; '.join(shown)} }}"


def _names(field: Node) -> list[Node]:
    named = list(field.children_by_field_name("name"))
    return named or [each for each in walk(field) if each.type == "type_identifier"][:1]


# --- knock-out and measures -------------------------------------------------------------------------------------------


def changed_functions(before: str, after: str) -> Iterator[Function]:
    """New ones, and those that were changed, as far as they do something."""
    old = {each.name: tokens(each.node) for each in functions_in(root_of(before))} if before else {}
    for each in functions_in(root_of(after)):
        changed = old.get(each.name) != tokens(each.node)
        if each.body is not None and each.name not in _STARTED_BY_GO and changed and statements(each.body):
            yield each


def knock_outs(path: str, before: str, after: str) -> tuple[Fault, ...]:
    """Every function that is new or was changed, with a body that panics at once."""
    return tuple(
        knock_out(path, each.name, each.node, each.body, KNOCKED_OUT, excused=_excuse(each))
        for each in changed_functions(before, after)
        if each.body is not None
    )


def _excuse(function: Function) -> str:
    """`func (e *ParseError) Error() string`: without it the type is no error, whether or not a test reads its text."""
    is_method = function.name.endswith(".Error")
    return (
        "every error has to have it, and no test reads it"
        if is_method and _parameters(function.node) == "() string"
        else ""
    )


_MEASURED = Measured(
    GRAMMAR,
    lambda root: [each.node for each in functions_in(root)],
    frozenset({"if_statement", "for_statement", "expression_case", "type_case", "communication_case"}),
)


def measure(texts: Mapping[str, str]) -> dict[str, int]:
    return measured(_MEASURED, texts)


def program_of(_: str, text: str) -> str:
    return tokens(root_of(text))
