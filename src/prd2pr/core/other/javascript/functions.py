"""Functions of a JavaScript file: which are public, how they are called, and how each is knocked out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prd2pr.core.bite.plan import Fault
from prd2pr.core.evidence import Signature
from prd2pr.core.other.javascript.files import grammar_of, module_of
from prd2pr.core.other.syntax import children, last_line, line_of, parsed, part, text_of, tokens, walk

if TYPE_CHECKING:
    from tree_sitter import Node

KNOCKED_OUT = '{ throw new Error("knocked out"); }'
FUNCTION_KINDS = frozenset(
    {
        "function_declaration",
        "generator_function_declaration",
        "function_expression",
        "generator_function",
        "arrow_function",
        "method_definition",
    }
)
_CLASSES = frozenset({"class_declaration", "class", "abstract_class_declaration"})


@dataclass(frozen=True)
class Function:
    name: str  # with the class around it: Cart.add
    node: Node
    public: bool

    @property
    def body(self) -> Node | None:
        return part(self.node, "body")


def functions_in(root: Node) -> Iterator[Function]:
    """Named ones: declarations, methods, and what is bound to a name at the top or in a class."""
    exported = _exported(root)
    for node in walk(root):
        if node.type not in FUNCTION_KINDS:
            continue
        name = _name(node)
        if name:
            outermost = name.partition(".")[0]
            yield Function(name, node, outermost in exported and not name.rpartition(".")[2].startswith("#"))


def _name(node: Node) -> str:
    """Empty for callbacks and functions inside of functions: these fall with what holds them."""
    own = text_of(part(node, "name"))
    parent = node.parent
    if parent is None or _is_inside(node):
        return ""
    if node.type == "method_definition":
        owner = _class_name(parent.parent)
        return f"{owner}.{own}" if owner else ""
    return own or _bound_name(parent)


def _bound_name(parent: Node) -> str:
    """Of a function that has no name of its own: what it is bound to."""
    if parent.type == "variable_declarator":
        return text_of(part(parent, "name"))
    if parent.type in {"field_definition", "public_field_definition"}:
        holder = parent.parent.parent if parent.parent is not None else None
        return f"{_class_name(holder)}.{text_of(part(parent, 'property') or part(parent, 'name'))}"
    if parent.type == "assignment_expression":
        return _assigned(text_of(part(parent, "left")))
    if parent.type == "pair":
        return text_of(part(parent, "key")) if _is_exported_object(parent) else ""
    return "default" if parent.type == "export_statement" else ""


def _assigned(left: str) -> str:
    for prefix in ("module.exports.", "exports."):
        left = left.removeprefix(prefix)
    return "default" if left == "module.exports" else left.replace(".prototype.", ".")


def _is_exported_object(pair: Node) -> bool:
    holder = pair.parent.parent if pair.parent is not None else None
    return holder is not None and holder.type in {"assignment_expression", "export_statement", "variable_declarator"}


def _class_name(node: Node | None) -> str:
    if node is None or node.type not in _CLASSES:
        return ""
    named = text_of(part(node, "name"))
    bound = node.parent if node.parent is not None and node.parent.type == "variable_declarator" else None
    return named or text_of(part(bound, "name")) or "default"


def _is_inside(node: Node) -> bool:
    parent = node.parent
    while parent is not None:
        if parent.type in FUNCTION_KINDS:
            return True
        parent = parent.parent
    return False


def _exported(root: Node) -> frozenset[str]:
    """Names that others may import; in a file that exports nothing, none."""
    found: set[str] = set()
    for node in walk(root):
        if node.type == "export_statement":
            found |= set(_of_statement(node))
        elif node.type == "assignment_expression" and text_of(part(node, "left")).startswith(
            ("module.exports", "exports.")
        ):
            found |= set(_of_assignment(node))
    return frozenset(found)


def _of_statement(node: Node) -> Iterator[str]:
    declared = part(node, "declaration")
    if any(each.type == "default" for each in node.children):
        yield "default"
    if declared is not None:
        name = part(declared, "name")
        yield from [text_of(name)] if name is not None else []
        for each in children(declared, "variable_declarator"):
            yield text_of(part(each, "name"))
    for clause in children(node, "export_clause"):
        for specifier in children(clause):
            yield text_of(part(specifier, "name"))
    value = part(node, "value")
    yield from [text_of(value)] if value is not None and value.type == "identifier" else []


def _of_assignment(node: Node) -> Iterator[str]:
    left, right = text_of(part(node, "left")), part(node, "right")
    name = left.removeprefix("module.").removeprefix("exports").lstrip(".")
    yield name or "default"
    if right is None:
        return
    if right.type == "identifier":
        yield text_of(right)
    for each in children(right) if right.type == "object" else ():
        yield text_of(part(each, "key") or each)


# --- signatures -------------------------------------------------------------------------------------------------------


def public_signatures(path: str, text: str) -> tuple[Signature, ...]:
    root, module = parsed(grammar_of(path), text), module_of(path)
    found = {each.name: _parameters(each.node) for each in functions_in(root) if each.public}
    others = {name: "value" for name in _exported(root) if name and name not in found}
    return tuple(
        Signature(name=f"{module}.{name}", text=text, path=path) for name, text in sorted({**others, **found}.items())
    )


def _parameters(node: Node) -> str:
    alone = part(node, "parameter")
    given = [alone] if alone is not None else children(part(node, "parameters"))
    kinds = [word for word in ("static", "get", "set", "async") if any(each.type == word for each in node.children)]
    result = part(node, "return_type")
    shown = ", ".join(tokens(each) for each in given)
    return " ".join([*kinds, f"({shown})"]) + (f" {tokens(result)}" if result is not None else "")


# --- knock-out --------------------------------------------------------------------------------------------------------


def knock_outs(path: str, before: str, after: str) -> tuple[Fault, ...]:
    """Every function that is new or was changed, with a body that throws at once."""
    return tuple(_fault(path, each) for each in changed_functions(path, before, after))


def changed_functions(path: str, before: str, after: str) -> Iterator[Function]:
    """New or changed, and with a body that does something."""
    old = {each.name: tokens(each.node) for each in functions_in(parsed(grammar_of(path), before))} if before else {}
    for each in functions_in(parsed(grammar_of(path), after)):
        if each.body is not None and old.get(each.name) != tokens(each.node) and _does_something(each.body):
            yield each


def _does_something(body: Node) -> bool:
    return body.type != "statement_block" or bool(children(body))


def _fault(path: str, function: Function) -> Fault:
    body = function.body
    assert body is not None, "asked before"
    edit = (body.start_byte, body.end_byte, KNOCKED_OUT)
    name = hashlib.sha256(f"knock_out {path} {edit}".encode()).hexdigest()[:12]
    lines = line_of(body), last_line(body)
    span = (function.node.start_byte, function.node.end_byte, line_of(function.node))
    said = f"`{function.name}` throws"
    return Fault(name, "knock_out", path, line_of(function.node), lines, function.name, said, edit, span)
