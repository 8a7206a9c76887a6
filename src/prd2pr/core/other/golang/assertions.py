"""Where a Go test can fail: `t.Error` and its like under a condition, assertions of libraries, helpers given t."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from prd2pr.core.other.golang.imports import imports_in, local_names
from prd2pr.core.other.syntax import children, part, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

FAILING = frozenset({"Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"})
STOPPING = frozenset({"Fatal", "Fatalf", "FailNow"})
LITERALS = frozenset(
    {"int_literal", "float_literal", "interpreted_string_literal", "raw_string_literal", "rune_literal", "true",
     "false", "nil"}
)  # fmt: skip
_LIBRARIES = ("github.com/stretchr/testify/assert", "github.com/stretchr/testify/require", "gotest.tools/")
_CONDITIONS = frozenset({"if_statement", "expression_case", "default_case", "type_case", "for_statement"})
FUNCTIONS = frozenset({"func_literal", "function_declaration", "method_declaration"})


@dataclass(frozen=True)
class Assertion:
    node: Node  # the call that fails
    form: str  # Errorf, Fatal …; `library` and `helper` for what is asserted elsewhere
    condition: Node | None = None  # under which it fails; None: always


@dataclass(frozen=True)
class Asserting:
    """The names by which a file asserts."""

    contexts: frozenset[str]  # t, tb
    libraries: frozenset[str]
    idle: frozenset[str] = frozenset()  # functions of the file that are given t and can never fail


def asserting(root: Node) -> Asserting:
    testing = local_names(root, "testing") or frozenset({"testing"})
    kinds = {f"{each}.{kind}" for each in testing for kind in ("T", "TB", "F", "B")}
    contexts = {"t"}
    for node in walk(root):
        if node.type == "parameter_declaration" and text_of(part(node, "type")).lstrip("*") in kinds:
            contexts |= {text_of(each) for each in node.children_by_field_name("name")}
    libraries = {each.local for each in imports_in(root) if each.path.startswith(_LIBRARIES)}
    names = Asserting(frozenset(contexts - {"_"}), frozenset(libraries))
    return replace(names, idle=_idle(root, names))


def _idle(root: Node, names: Asserting) -> frozenset[str]:
    """Helpers that log, or return what they found, and leave it at that. One that calls such a one is one too."""
    functions = {text_of(part(node, "name")): node for node in children(root, "function_declaration")}
    found = frozenset(functions)
    for _ in functions:
        known = replace(names, idle=found)
        left = frozenset(name for name in found if not any(assertions_in(functions[name], known)))
        if left == found:
            break
        found = left
    return found


def assertions_in(node: Node, names: Asserting) -> Iterator[Assertion]:
    for each in walk(node):
        if each.type != "call_expression":
            continue
        callee = part(each, "function")
        given = children(part(each, "arguments"))
        owner = text_of(part(callee, "operand")) if callee is not None and callee.type == "selector_expression" else ""
        word = text_of(part(callee, "field")) if owner else ""
        if owner in names.contexts:
            if word in FAILING:
                yield Assertion(each, word, _condition(each, node))
        elif owner in names.libraries:
            yield Assertion(each, "library")
        elif given and text_of(given[0]) in names.contexts and text_of(callee).partition("[")[0] not in names.idle:
            yield Assertion(each, "helper")


def _condition(call: Node, top: Node) -> Node | None:
    """The nearest `if`, case or loop around the call; a loop may have nothing to go through."""
    inner, parent = call, call.parent
    while parent is not None and inner.id != top.id:
        if parent.type == "if_statement":
            return part(parent, "condition")
        if parent.type in _CONDITIONS:
            return parent
        if parent.type in FUNCTIONS and parent.id != top.id and not _is_run(parent):
            return parent
        inner, parent = parent, parent.parent
    return None


def _is_run(function: Node) -> bool:
    """A function that `t.Run` begins, and not a callback that may never be called."""
    call = function.parent.parent if function.parent is not None else None
    callee = part(call, "function")
    return callee is not None and text_of(callee).endswith(".Run")


def is_constant(node: Node | None) -> bool:
    """Made of literals alone."""
    if node is None:
        return False
    leaves = [each for each in walk(node) if not each.children and each.is_named]
    kinds = {*LITERALS, "interpreted_string_literal_content", "raw_string_literal_content", "escape_sequence"}
    return bool(leaves) and all(each.type in kinds for each in leaves)


def compared(condition: Node | None) -> Iterator[tuple[str, Node, Node]]:
    """Comparisons in a condition: operator, left, right."""
    for node in walk(condition) if condition is not None and condition.type not in _CONDITIONS | FUNCTIONS else ():
        left, right = part(node, "left"), part(node, "right")
        operator = text_of(part(node, "operator"))
        if node.type == "binary_expression" and left is not None and right is not None and operator in COMPARING:
            yield operator, left, right


COMPARING = frozenset({"==", "!=", "<", "<=", ">", ">="})
