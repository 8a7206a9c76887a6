"""Functions of a Go file: exported signatures, knock-outs and metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.domain.evidence import Signature
from prd2pr.languages.golang.files import GRAMMAR, name_package, parse_source
from prd2pr.languages.metrics import MetricsGrammar
from prd2pr.languages.metrics import measure_syntax as measured
from prd2pr.languages.mutation_plan import Fault
from prd2pr.languages.syntax import get_field, get_text, join_tokens, list_children, walk
from prd2pr.languages.text_mutants import make_knock_out

if TYPE_CHECKING:
    from tree_sitter import Node

KNOCK_OUT_BODY = ' panic("knocked out"); '
_ENTRY_POINTS = frozenset({"main", "init"})


@dataclass(frozen=True)
class Function:
    name: str  # with the receiver's type: Cart.Add
    node: Node

    @property
    def body(self) -> Node | None:
        return get_field(self.node, "body")

    @property
    def is_exported(self) -> bool:
        return all(is_exported(each) for each in self.name.split("."))


def is_exported(name: str) -> bool:
    return name[:1].isupper()


def find_functions(root: Node) -> Iterator[Function]:
    for node in list_children(root, "function_declaration", "method_declaration"):
        name = get_text(get_field(node, "name"))
        owner = _read_receiver(node)
        yield Function(f"{owner}.{name}" if owner else name, node)


def _read_receiver(node: Node) -> str:
    found = get_field(node, "receiver")
    names = [get_text(each) for each in walk(found) if each.type == "type_identifier"] if found is not None else []
    return names[0] if names else ""


def list_statements(body: Node | None) -> list[Node]:
    """Return a block's statements; newer grammars wrap them in a list."""
    inner = list_children(body)
    return list_children(inner[0]) if len(inner) == 1 and inner[0].type == "statement_list" else inner


# --- signatures -------------------------------------------------------------------------------------------------------


def list_signatures(path: str, text: str) -> tuple[Signature, ...]:
    root = parse_source(text)
    package = name_package(path, root)
    found = {each.name: _format_parameters(each.node) for each in find_functions(root) if each.is_exported}
    return tuple(
        Signature(name=f"{package}.{name}", text=shown, path=path)
        for name, shown in sorted({**dict(_list_other_signatures(root)), **found}.items())
    )


def _format_parameters(node: Node) -> str:
    """Return parameter and result types; parameter names are not part of the signature."""
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
    """Return the type; of a struct only the exported fields."""
    if node is None or node.type != "struct_type":
        return join_tokens(node) if node is not None else ""
    fields = [each for each in walk(node) if each.type == "field_declaration"]
    shown = [join_tokens(each) for each in fields if any(is_exported(get_text(name)) for name in _list_names(each))]
    return f"struct {{ {'; '.join(shown)} }}"


def _list_names(field: Node) -> list[Node]:
    named = list(field.children_by_field_name("name"))
    return named or [each for each in walk(field) if each.type == "type_identifier"][:1]


# --- knock-out and measures -------------------------------------------------------------------------------------------


def find_changed_functions(before: str, after: str) -> Iterator[Function]:
    """Yield new and changed functions with a body."""
    old = {each.name: join_tokens(each.node) for each in find_functions(parse_source(before))} if before else {}
    for each in find_functions(parse_source(after)):
        changed = old.get(each.name) != join_tokens(each.node)
        if each.body is not None and each.name not in _ENTRY_POINTS and changed and list_statements(each.body):
            yield each


def make_knock_outs(path: str, before: str, after: str) -> tuple[Fault, ...]:
    """Make each new or changed function panic."""
    return tuple(
        make_knock_out(path, each.name, each.node, each.body, KNOCK_OUT_BODY, excused=_find_exemption(each))
        for each in find_changed_functions(before, after)
        if each.body is not None
    )


def _find_exemption(function: Function) -> str:
    """Exempt `Error() string`: error types need it, even if no test reads the text."""
    is_method = function.name.endswith(".Error")
    return (
        "every error type needs it, even if no test reads it"
        if is_method and _format_parameters(function.node) == "() string"
        else ""
    )


_METRICS = MetricsGrammar(
    GRAMMAR,
    lambda root: [each.node for each in find_functions(root)],
    frozenset({"if_statement", "for_statement", "expression_case", "type_case", "communication_case"}),
)


def measure_source(texts: Mapping[str, str]) -> dict[str, int]:
    return measured(_METRICS, texts)


def normalize_program(_: str, text: str) -> str:
    return join_tokens(parse_source(text))
