"""Rust functions that answer something else: a test that passes all the same does not look at the answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prd2pr.core.bite.plan import Answering
from prd2pr.core.bite.text import Edit
from prd2pr.core.other.rust.functions import changed_functions, full_name
from prd2pr.core.other.syntax import line_of, part, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

# Another value of any type, by its name and its size: there is no reflection. What owns memory is left as it is, but
# for texts and lists. It is done in a process that is thrown away, and one that breaks by it counts as noticed.
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


def other_answers(path: str, before: str, after: str) -> tuple[Answering, ...]:
    """Each function that is new or was changed, once with another answer and once without doing anything."""
    found: list[Answering] = []
    for item in changed_functions(before, after):
        body = part(item.node, "body")
        words = {text_of(each) for each in _modifiers(item.node)}
        if body is None or "const" in words:
            continue
        kind = " ".join(text_of(part(item.node, "return_type")).split())
        place = (path, line_of(item.node), full_name(item))
        if other := _other(kind, body, is_async="async" in words):
            found.append(Answering(*place, "other", other))
        if nothing := _nothing(kind):
            at = body.start_byte + 1
            found.append(Answering(*place, "nothing", ((at, at, f" if true {{ return {nothing} }} "),)))
    return tuple(found)


def _modifiers(node: Node) -> list[Node]:
    return [leaf for each in node.children if each.type == "function_modifiers" for leaf in each.children]


def _nothing(kind: str) -> str:
    """A value as empty as its type has one; not where it would have to be made of something."""
    if kind in {"", "()"}:
        return "()"
    if kind in _WRITTEN:
        return "Ok(())"
    if _STR.match(kind):
        return '""'
    if kind.startswith(("&", "impl ", "!", "Box<dyn")):
        return ""
    if found := _RESULT.match(kind):
        inner = _nothing(_arguments(found[1])[0])
        return f"Ok({inner})" if inner else ""
    return "Default::default()" if _DEFAULTS.match(kind) else _ZEROED


def _other(kind: str, body: Node, *, is_async: bool) -> tuple[Edit, ...]:
    if kind in {"", "()", "!"} | _WRITTEN or kind.startswith(("&mut ", "Box<dyn")):
        return ()
    shown = "" if "impl " in kind else f": {kind}"
    if is_async:
        opened, closed = f"let prd2pr_out{shown} = async move {{", "}.await;"
    elif any(each.type in _LEAVING for each in walk(body)) or "?" in text_of(body):
        arrow = f"-> {kind} " if shown else ""
        opened, closed = f"let prd2pr_out{shown} = (move || {arrow}{{", "})();"
    else:
        opened, closed = f"let prd2pr_out{shown} = {{", "};"
    begin, end = body.start_byte + 1, body.end_byte - 1
    return (begin, begin, f"{_OTHER}{opened}"), (end, end, f"{closed} {_changed(kind, 'prd2pr_out')} ")


def _changed(kind: str, value: str) -> str:
    """Of an answer that may be an error, the other of both, or another of the same kind."""
    if _OPTION.match(kind):
        return f"match {value} {{ Some(_) => None, None => Some({_ZEROED}) }}"
    if found := _RESULT.match(kind):
        inner = _arguments(found[1])[0]
        kept = "Ok(found)" if inner == "()" else f"Ok({_changed(inner, 'found')})"
        return f"match {value} {{ Ok(found) => {kept}, Err(_) => Ok({_nothing(inner) or _ZEROED}) }}"
    if kind.startswith("(") and len(parts := _arguments(kind[1:-1])) > 1:
        names = [f"prd2pr_{at}" for at in range(len(parts))]
        made = ", ".join(_changed(each, name) for each, name in zip(parts, names, strict=True))
        return f"{{ let ({', '.join(names)}) = {value}; ({made}) }}"
    return f"prd2pr_other({value})"


def _arguments(text: str) -> list[str]:
    """Parted by the commas that stand in no bracket."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign in "<([") - (sign in ">)]")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return [each.strip() for each in parts if each.strip()] or [""]
