"""Make Rust functions return other values: a test that still passes does not check the result."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prd2pr.languages.mutation_plan import Edit, ReturnReplacement
from prd2pr.languages.rust.functions import find_changed_functions, format_item_name
from prd2pr.languages.syntax import get_field, get_line, get_text, walk

if TYPE_CHECKING:
    from tree_sitter import Node

# Changes a value by its type's name and size, since there is no reflection. Values that own memory are not changed,
# except strings and vectors. The process is discarded, and a crash counts as noticed.
_OTHER = """ fn prd2pr_other<T>(mut value: T) -> T {
    let (size, name) = (std::mem::size_of::<T>(), std::any::type_name::<T>());
    let place = &mut value as *mut T as *mut u8;
    unsafe {
        if name == "alloc::string::String" { (*(place as *mut String)).push('~'); }
        else if name.starts_with("alloc::vec::Vec<") {
            let list = &mut *(place as *mut Vec<u8>);
            if list.is_empty() { let mut made = vec![0u8; 4096]; made.set_len(1); std::ptr::write(list, made); }
            else { list.set_len(0); }
        }
        else if name == "&str" { *(place as *mut &str) = "another answer"; }
        else if name == "f64" { *(place as *mut f64) = *(place as *mut f64) * 2.0 + 1.0; }
        else if name == "f32" { *(place as *mut f32) = *(place as *mut f32) * 2.0 + 1.0; }
        else if !name.starts_with('&') && !std::mem::needs_drop::<T>() {
            let whole = ["bool", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128",
                "usize"];
            for at in (0..size).step_by(8) {
                *place.add(at) ^= 1;
                if whole.contains(&name) { break; }
                if at + 2 < size { *place.add(at + 2) ^= 0x80; }
                if at + 6 < size { *place.add(at + 6) ^= 0x90; }
            }
        }
    }
    value
} """
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


def replace_return_values(path: str, before: str, after: str) -> tuple[ReturnReplacement, ...]:
    """Make each new or changed function return another value, and do nothing."""
    found: list[ReturnReplacement] = []
    for item in find_changed_functions(before, after):
        body = get_field(item.node, "body")
        words = {get_text(each) for each in _list_modifiers(item.node)}
        if body is None or "const" in words:
            continue
        kind = " ".join(get_text(get_field(item.node, "return_type")).split())
        place = (path, get_line(item.node), format_item_name(item))
        if other := _make_other_return(kind, body, is_async="async" in words):
            found.append(ReturnReplacement(*place, "other", other))
        if nothing := _make_empty_value(kind):
            at = body.start_byte + 1
            found.append(ReturnReplacement(*place, "nothing", ((at, at, f" if true {{ return {nothing} }} "),)))
    return tuple(found)


def _list_modifiers(node: Node) -> list[Node]:
    return [leaf for each in node.children if each.type == "function_modifiers" for leaf in each.children]


def _make_empty_value(kind: str) -> str:
    """Return an empty value of the type; empty text if there is none."""
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
    """Return an expression for another value: of Option and Result the other variant or another content."""
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
    """Split at commas outside brackets."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign in "<([") - (sign in ">)]")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return [each.strip() for each in parts if each.strip()] or [""]
