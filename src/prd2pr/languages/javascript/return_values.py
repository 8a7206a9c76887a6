"""Make JavaScript functions return other values, to find tests that do not check the result."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.languages.javascript.functions import find_functions
from prd2pr.languages.javascript.grammar import FUNCTION_KINDS, SYNTAX
from prd2pr.languages.javascript.side_effects import SideEffects
from prd2pr.languages.mutation_plan import Edit, ReplacementKind
from prd2pr.languages.syntax.functions import ChangedFunction, Functions, KnockOut, NamedFunction, read_program
from prd2pr.languages.syntax.nodes import get_text, list_children

if TYPE_CHECKING:
    from tree_sitter import Node

# Returns a value of the same kind, so that only a test that checks the value notices: slightly different, or (`wholly`)
# completely. Declared at the end of the file and hoisted.
_OTHER = "\n" + read_program("javascript", "other_value.js")
_TOLERANT_BODY = "{ try { return CALL; } catch { return 41975; } }"  # suppresses expected errors too
_TYPED_PARAMETERS = ("(value, wholly, depth = 0)", "(value: any, wholly?: any, depth: any = 0): any")


def replace_returns(changed: ChangedFunction) -> Iterator[tuple[ReplacementKind, tuple[Edit, ...]]]:
    """Yield edits that replace the return value, or that make the function do nothing.

    For a pure function, the second edit returns another value instead, because a test that only checks that there is a
    result would detect `undefined`.
    """
    function, body = changed.function, changed.body
    answers = _returns_value(function)
    if answers:
        yield "other", _make_other_return(changed, wholly=False)
    if answers and not SideEffects(changed.file).has_side_effects(function):
        yield "nothing", _make_other_return(changed, wholly=True)
    elif not _is_constructor(function):
        yield "nothing", ((body.start_byte, body.end_byte, "{}"),)


def _make_other_return(changed: ChangedFunction, *, wholly: bool) -> tuple[Edit, ...]:
    """Change only the return value. The function still runs with the same `this` and arguments."""
    path, body = changed.path, changed.body
    name = f"prd2pr_{hashlib.sha256(path.encode()).hexdigest()[:8]}"
    later = any(each.type == "async" for each in changed.node.children)
    again, is_block = get_text(body), body.type == "statement_block"
    once = f"(async () => {again})()" if later and is_block else f"(() => {again})()" if is_block else f"({again})"
    call = f"{name}({'await ' if later else ''}{once}, {'true' if wholly else 'false'})"
    end = len(changed.file.text.encode())
    helper = _OTHER.replace(*_TYPED_PARAMETERS, 1) if path.endswith(("ts", "tsx")) else _OTHER
    made = (body.start_byte, body.end_byte, _TOLERANT_BODY.replace("CALL", call) if wholly else f"{{ return {call}; }}")
    return made, (end, end, helper.replace("NAME", name))


def _returns_value(function: NamedFunction) -> bool:
    """Return whether the function returns a value other than `this`.

    Constructors, setters and generators do not count.
    """
    node, body = function.node, function.body
    if body is None or _is_constructor(function) or _is_marked(node, {"set", "*"}) or "generator" in node.type:
        return False
    if body.type != "statement_block":
        return True
    values = [value for each in _walk_own(body) if each.type == "return_statement" for value in list_children(each)]
    return any(get_text(value) != "this" for value in values)


def _is_constructor(function: NamedFunction) -> bool:
    return function.name.rpartition(".")[2] == "constructor"


def _is_marked(node: Node, words: set[str]) -> bool:
    return any(each.type in words for each in node.children)


def _walk_own(body: Node) -> Iterator[Node]:
    """Yield the nodes of the body, except those of inner functions."""
    pending = [body]
    while pending:
        node = pending.pop()
        yield node
        pending += [each for each in node.children if each.type not in FUNCTION_KINDS]


FUNCTIONS = Functions(
    SYNTAX,
    find_functions,
    KnockOut('{ throw new Error("knocked out"); }', "throws", replaces_body=True),
    replace_returns,
)
