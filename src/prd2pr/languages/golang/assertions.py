"""Find the assertions of Go tests: `t.Error` and similar calls, assertion libraries, and helpers that take `t`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from prd2pr.languages.golang.imports import find_local_names, read_imports
from prd2pr.languages.syntax.nodes import get_field, get_text, list_children, walk

if TYPE_CHECKING:
    from tree_sitter import Node

FAILING_METHODS = frozenset({"Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"})
STOPPING_METHODS = frozenset({"Fatal", "Fatalf", "FailNow"})
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
    form: str  # Errorf, Fatal …, or `library` or `helper` for an indirect assertion
    condition: Node | None = None  # condition of the failure; None if unconditional


@dataclass(frozen=True)
class AssertionNames:
    """The names that assertions in a file use."""

    contexts: frozenset[str]  # such as t and tb
    libraries: frozenset[str]
    idle: frozenset[str] = frozenset()  # functions of the file that take t but never fail


@lru_cache(maxsize=64)
def find_assertion_names(root: Node) -> AssertionNames:
    testing = find_local_names(root, "testing") or frozenset({"testing"})
    kinds = {f"{each}.{kind}" for each in testing for kind in ("T", "TB", "F", "B")}
    contexts = {"t"}
    for node in walk(root):
        if node.type == "parameter_declaration" and get_text(get_field(node, "type")).lstrip("*") in kinds:
            contexts |= {get_text(each) for each in node.children_by_field_name("name")}
    libraries = {each.local for each in read_imports(root) if each.path.startswith(_LIBRARIES)}
    names = AssertionNames(frozenset(contexts - {"_"}), frozenset(libraries))
    return replace(names, idle=_find_idle_helpers(root, names))


def _find_idle_helpers(root: Node, names: AssertionNames) -> frozenset[str]:
    """Return the helpers that never fail the test, including those that only call such helpers."""
    functions = {get_text(get_field(node, "name")): node for node in list_children(root, "function_declaration")}
    found = frozenset(functions)
    for _ in functions:
        known = replace(names, idle=found)
        left = frozenset(name for name in found if not any(find_assertions(functions[name], known)))
        if left == found:
            break
        found = left
    return found


def find_assertions(node: Node, names: AssertionNames) -> Iterator[Assertion]:
    for each in walk(node):
        if each.type != "call_expression":
            continue
        callee = get_field(each, "function")
        arguments = list_children(get_field(each, "arguments"))
        owner = (
            get_text(get_field(callee, "operand"))
            if callee is not None and callee.type == "selector_expression"
            else ""
        )
        method = get_text(get_field(callee, "field")) if owner else ""
        if owner in names.contexts:
            if method in FAILING_METHODS:
                yield Assertion(each, method, _find_condition(each, node))
        elif owner in names.libraries:
            yield Assertion(each, "library")
        elif (
            arguments
            and get_text(arguments[0]) in names.contexts
            and get_text(callee).partition("[")[0] not in names.idle
        ):
            yield Assertion(each, "helper")


def _find_condition(call: Node, top: Node) -> Node | None:
    """Return the nearest `if`, case or loop around the call. A loop is included because it may have no iterations."""
    inner, parent = call, call.parent
    while parent is not None and inner.id != top.id:
        if parent.type == "if_statement":
            return get_field(parent, "condition")
        if parent.type in _CONDITIONS:
            return parent
        if parent.type in FUNCTIONS and parent.id != top.id and not _is_subtest(parent):
            return parent
        inner, parent = parent, parent.parent
    return None


def _is_subtest(function: Node) -> bool:
    """Return whether `t.Run` calls the function. Other callbacks may never be called."""
    call = function.parent.parent if function.parent is not None else None
    callee = get_field(call, "function")
    return callee is not None and get_text(callee).endswith(".Run")


def is_constant(node: Node | None) -> bool:
    """Return whether the node consists of literals only."""
    if node is None:
        return False
    leaves = [each for each in walk(node) if not each.children and each.is_named]
    kinds = {*LITERALS, "interpreted_string_literal_content", "raw_string_literal_content", "escape_sequence"}
    return bool(leaves) and all(each.type in kinds for each in leaves)


def find_comparisons(condition: Node | None) -> Iterator[tuple[str, Node, Node]]:
    """Yield the operator, left side and right side of each comparison in a condition."""
    for node in walk(condition) if condition is not None and condition.type not in _CONDITIONS | FUNCTIONS else ():
        left, right = get_field(node, "left"), get_field(node, "right")
        operator = get_text(get_field(node, "operator"))
        if node.type == "binary_expression" and left is not None and right is not None and operator in COMPARISONS:
            yield operator, left, right


COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
