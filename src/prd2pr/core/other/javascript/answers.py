"""JavaScript functions that answer something else: a test that passes all the same does not look at the answer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prd2pr.core.bite.plan import Answering
from prd2pr.core.bite.text import Edit
from prd2pr.core.other.javascript.effects import Effects
from prd2pr.core.other.javascript.files import grammar_of
from prd2pr.core.other.javascript.functions import FUNCTION_KINDS, Function, changed_functions
from prd2pr.core.other.syntax import children, line_of, parsed, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

# Of the same kind as the true answer, so that only a test that looks at the value can tell: once a bit different, once
# altogether. It is declared at the end of the file, from where it is hoisted.
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
_TOLERANT = "{ try { return CALL; } catch { return 41975; } }"  # an error that a test asks for is not thrown either
_TYPED = ("(value, wholly, depth = 0)", "(value: any, wholly?: any, depth: any = 0): any")


def other_answers(path: str, before: str, after: str) -> tuple[Answering, ...]:
    """Each function that is new or was changed, with another answer, and without doing anything.

    One that does nothing but answer is given a second other answer in place of none at all: `undefined` would be
    noticed by a test that only asks whether there is any.
    """
    root = parsed(grammar_of(path), after)
    effects = Effects(root)
    found: list[Answering] = []
    for function in changed_functions(path, before, after):
        place = (path, line_of(function.node), function.name)
        answers = _answers(function)
        if answers:
            found.append(Answering(*place, "other", _otherwise(path, after, function, wholly=False)))
        if answers and not effects.of(function):
            found.append(Answering(*place, "nothing", _otherwise(path, after, function, wholly=True)))
        elif not _is_constructor(function):
            found.append(Answering(*place, "nothing", (_nothing(function),)))
    return tuple(found)


def _otherwise(path: str, text: str, function: Function, *, wholly: bool) -> tuple[Edit, ...]:
    """What it did it does as before, with its own `this` and arguments; only the answer is another."""
    body, name = function.body, f"prd2pr_{hashlib.sha256(path.encode()).hexdigest()[:8]}"
    assert body is not None, "asked before"
    later = any(each.type == "async" for each in function.node.children)
    again, is_block = text_of(body), body.type == "statement_block"
    once = f"(async () => {again})()" if later and is_block else f"(() => {again})()" if is_block else f"({again})"
    call = f"{name}({'await ' if later else ''}{once}, {'true' if wholly else 'false'})"
    end = len(text.encode())
    helper = _OTHER.replace(*_TYPED, 1) if path.endswith(("ts", "tsx")) else _OTHER
    made = (body.start_byte, body.end_byte, _TOLERANT.replace("CALL", call) if wholly else f"{{ return {call}; }}")
    return made, (end, end, helper.replace("NAME", name))


def _nothing(function: Function) -> Edit:
    body = function.body
    assert body is not None, "asked before"
    return body.start_byte, body.end_byte, "{}"


def _answers(function: Function) -> bool:
    """It has a value to answer with, other than itself, and gives it at once: no constructor, setter or generator."""
    node, body = function.node, function.body
    if body is None or _is_constructor(function) or _is_marked(node, {"set", "*"}) or "generator" in node.type:
        return False
    if body.type != "statement_block":
        return True
    values = [value for each in _own(body) if each.type == "return_statement" for value in children(each)]
    return any(text_of(value) != "this" for value in values)


def _is_constructor(function: Function) -> bool:
    return function.name.rpartition(".")[2] == "constructor"


def _is_marked(node: Node, words: set[str]) -> bool:
    return any(each.type in words for each in node.children)


def _own(body: Node) -> Iterator[Node]:
    """Without what stands in functions inside of it."""
    waiting = [body]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [each for each in node.children if each.type not in FUNCTION_KINDS]
