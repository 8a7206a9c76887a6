"""Make JavaScript functions return other values: a test that still passes does not check the result."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.languages.javascript.files import select_grammar
from prd2pr.languages.javascript.functions import FUNCTION_KINDS, Function, find_changed_functions
from prd2pr.languages.javascript.side_effects import SideEffects
from prd2pr.languages.mutation_plan import Edit, ReturnReplacement
from prd2pr.languages.syntax import get_line, get_text, list_children, parse_text

if TYPE_CHECKING:
    from tree_sitter import Node

# Returns a value of the same kind, so that only a test that checks the value notices: slightly different, or (`wholly`)
# completely. Declared at the end of the file and hoisted.
_OTHER = """
function NAME(value, wholly, depth = 0) {
  if (depth > 4) return value;
  const inner = (each) => NAME(each, wholly, depth + 1);
  if (value === null || value === undefined) return wholly ? "~" : 41975;
  if (typeof value === "number") return !Number.isFinite(value) ? 7919 : wholly ? -value - 7919 : value + 7919;
  if (typeof value === "bigint") return wholly ? -value - BigInt(7919) : value + BigInt(7919);
  if (typeof value === "string") return wholly ? "~41975~" : value + "~";
  if (typeof value === "boolean") return !value;
  if (typeof value === "function") return function (...given) { return inner(value.apply(this, given)); };
  if (typeof value !== "object") return 41975;
  if (typeof value.then === "function") return value.then(inner);
  if (Array.isArray(value)) return !wholly ? [...value.map(inner), 41975] : value.length ? [] : [41975];
  if (value instanceof Date) return new Date(value.getTime() + (wholly ? -1 : 1) * 34567890123);
  if (value instanceof Map) return new Map(wholly && value.size ? [] : [...value, ["~", 41975]].map(inner));
  if (value instanceof Set) return new Set(wholly && value.size ? [] : [...[...value].map(inner), 41975]);
  const keys = Reflect.ownKeys(value);
  if (wholly) return keys.length ? {} : { otherwise: 41975 };
  const made = Object.create(Object.getPrototypeOf(value));
  for (const key of keys) made[key] = inner(value[key]);
  made.otherwise = 41975;
  return made;
}
"""
_TOLERANT_BODY = "{ try { return CALL; } catch { return 41975; } }"  # an expected error is not thrown either
_TYPED_PARAMETERS = ("(value, wholly, depth = 0)", "(value: any, wholly?: any, depth: any = 0): any")


def replace_return_values(path: str, before: str, after: str) -> tuple[ReturnReplacement, ...]:
    """Make each new or changed function return another value, and do nothing.

    A pure function gets a second replacement value instead of doing nothing: `undefined` would be noticed by a test
    that only checks for any result.
    """
    root = parse_text(select_grammar(path), after)
    effects = SideEffects(root)
    found: list[ReturnReplacement] = []
    for function in find_changed_functions(path, before, after):
        place = (path, get_line(function.node), function.name)
        answers = _returns_value(function)
        if answers:
            found.append(ReturnReplacement(*place, "other", _make_other_return(path, after, function, wholly=False)))
        if answers and not effects.has_side_effects(function):
            found.append(ReturnReplacement(*place, "nothing", _make_other_return(path, after, function, wholly=True)))
        elif not _is_constructor(function):
            found.append(ReturnReplacement(*place, "nothing", (_make_empty_body(function),)))
    return tuple(found)


def _make_other_return(path: str, text: str, function: Function, *, wholly: bool) -> tuple[Edit, ...]:
    """Keep the behaviour, `this` and arguments, and change only the return value."""
    body, name = function.body, f"prd2pr_{hashlib.sha256(path.encode()).hexdigest()[:8]}"
    assert body is not None, "only functions with a body"
    later = any(each.type == "async" for each in function.node.children)
    again, is_block = get_text(body), body.type == "statement_block"
    once = f"(async () => {again})()" if later and is_block else f"(() => {again})()" if is_block else f"({again})"
    call = f"{name}({'await ' if later else ''}{once}, {'true' if wholly else 'false'})"
    end = len(text.encode())
    helper = _OTHER.replace(*_TYPED_PARAMETERS, 1) if path.endswith(("ts", "tsx")) else _OTHER
    made = (body.start_byte, body.end_byte, _TOLERANT_BODY.replace("CALL", call) if wholly else f"{{ return {call}; }}")
    return made, (end, end, helper.replace("NAME", name))


def _make_empty_body(function: Function) -> Edit:
    body = function.body
    assert body is not None, "only functions with a body"
    return body.start_byte, body.end_byte, "{}"


def _returns_value(function: Function) -> bool:
    """Return whether the function returns a value other than `this`; not for constructors, setters or generators."""
    node, body = function.node, function.body
    if body is None or _is_constructor(function) or _is_marked(node, {"set", "*"}) or "generator" in node.type:
        return False
    if body.type != "statement_block":
        return True
    values = [value for each in _walk_own(body) if each.type == "return_statement" for value in list_children(each)]
    return any(get_text(value) != "this" for value in values)


def _is_constructor(function: Function) -> bool:
    return function.name.rpartition(".")[2] == "constructor"


def _is_marked(node: Node, words: set[str]) -> bool:
    return any(each.type in words for each in node.children)


def _walk_own(body: Node) -> Iterator[Node]:
    """Yield nodes of the body outside inner functions."""
    pending = [body]
    while pending:
        node = pending.pop()
        yield node
        pending += [each for each in node.children if each.type not in FUNCTION_KINDS]
