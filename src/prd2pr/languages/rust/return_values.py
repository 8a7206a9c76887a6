"""Make Rust functions return other values, to find tests that do not check the result."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.languages.mutation_plan import Edit, ReplacementKind
from prd2pr.languages.rust.files import SYNTAX
from prd2pr.languages.rust.functions import find_functions
from prd2pr.languages.syntax.functions import ChangedFunction, Functions, KnockOut, read_program
from prd2pr.languages.syntax.nodes import get_field, get_text, walk

if TYPE_CHECKING:
    from tree_sitter import Node

# Changes a value by the name and size of its type, as Rust has no reflection. Values that own memory are not changed,
# except strings and vectors. The process is discarded, and a crash counts as a failed test.
_OTHER = f" {read_program('rust', 'other_value.rs').rstrip()} "
_DEFAULTS = re.compile(
    r"^(bool|char|[iu](8|16|32|64|128|size)|f32|f64|String|(std::string::)?String"
    r"|(std::\w+::)?(Vec|Option|HashMap|BTreeMap|HashSet|BTreeSet|VecDeque)<.*>)$",
    re.DOTALL,
)
_RESULT = re.compile(r"^(?:\w+::)*Result<(.*)>$", re.DOTALL)
_OPTION = re.compile(r"^(?:(?:std|core)::option::)?Option<", re.DOTALL)
_ZEROED = "unsafe { std::mem::zeroed() }"
_WRITTEN = frozenset({"fmt::Result", "std::fmt::Result", "core::fmt::Result"})
_STR = re.compile(r"^&\s*('\w+\s+)?str$")
_LEAVING = frozenset({"return_expression", "try_expression", "await_expression"})


def replace_returns(changed: ChangedFunction) -> Iterator[tuple[ReplacementKind, tuple[Edit, ...]]]:
    words = {get_text(each) for each in _list_modifiers(changed.node)}
    if "const" in words:
        return
    kind = " ".join(get_text(get_field(changed.node, "return_type")).split())
    yield "other", _make_other_return(kind, changed.body, is_async="async" in words)
    if nothing := _make_empty_value(kind):
        at = changed.body.start_byte + 1
        yield "nothing", ((at, at, f" if true {{ return {nothing} }} "),)


def _list_modifiers(node: Node) -> list[Node]:
    return [leaf for each in node.children if each.type == "function_modifiers" for leaf in each.children]


def _make_empty_value(kind: str) -> str:
    """Return an empty value of the type, or an empty string if there is none."""
    if kind in {"", "()"}:
        return "()"
    if kind in _WRITTEN:
        return "Ok(())"
    if _STR.match(kind):
        return '""'
    if kind.startswith(("&", "impl ", "!", "Box<dyn")):
        return ""
    if found := _RESULT.match(kind):
        inner = _make_empty_value(_split_type_arguments(found[1])[0])
        return f"Ok({inner})" if inner else ""
    return "Default::default()" if _DEFAULTS.match(kind) else _ZEROED


def _make_other_return(kind: str, body: Node, *, is_async: bool) -> tuple[Edit, ...]:
    if kind in {"", "()", "!"} | _WRITTEN or kind.startswith(("&mut ", "Box<dyn")):
        return ()
    shown = "" if "impl " in kind else f": {kind}"
    if is_async:
        opened, closed = f"let prd2pr_out{shown} = async move {{", "}.await;"
    elif any(each.type in _LEAVING for each in walk(body)) or "?" in get_text(body):
        arrow = f"-> {kind} " if shown else ""
        opened, closed = f"let prd2pr_out{shown} = (move || {arrow}{{", "})();"
    else:
        opened, closed = f"let prd2pr_out{shown} = {{", "};"
    begin, end = body.start_byte + 1, body.end_byte - 1
    return (begin, begin, f"{_OTHER}{opened}"), (end, end, f"{closed} {_make_changed_value(kind, 'prd2pr_out')} ")


def _make_changed_value(kind: str, value: str) -> str:
    """Return an expression for another value. For Option and Result, it is the other variant or has other content."""
    if _OPTION.match(kind):
        return f"match {value} {{ Some(_) => None, None => Some({_ZEROED}) }}"
    if found := _RESULT.match(kind):
        inner = _split_type_arguments(found[1])[0]
        kept = "Ok(found)" if inner == "()" else f"Ok({_make_changed_value(inner, 'found')})"
        return f"match {value} {{ Ok(found) => {kept}, Err(_) => Ok({_make_empty_value(inner) or _ZEROED}) }}"
    if kind.startswith("(") and len(parts := _split_type_arguments(kind[1:-1])) > 1:
        names = [f"prd2pr_{at}" for at in range(len(parts))]
        made = ", ".join(_make_changed_value(each, name) for each, name in zip(parts, names, strict=True))
        return f"{{ let ({', '.join(names)}) = {value}; ({made}) }}"
    return f"prd2pr_other({value})"


def _split_type_arguments(text: str) -> list[str]:
    """Split the text at commas outside brackets."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign in "<([") - (sign in ">)]")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return [each.strip() for each in parts if each.strip()] or [""]


FUNCTIONS = Functions(
    SYNTAX,
    find_functions,
    # The condition keeps the rest reachable. Without it, the compiler may reject the code.
    KnockOut(' if true { panic!("knocked out") } ', "panics"),
    replace_returns,
    entry_points=frozenset({"main"}),
)
