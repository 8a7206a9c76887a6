"""Small faults, one at a time, each as an edit of the text. Pure; what a fault means is decided by the tests.

An edit keeps the lines where they are and every name that the statement uses: so a function's code can be exchanged
in a running process, closures and all.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from prd2pr.core.bite.text import Edit, SourceText, shown

COMPARED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
COMPUTED: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "|"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.MatMult: ("@", "*"),
}
CALLED = {"min": "max", "max": "min", "any": "all", "all": "any"}
# Read by other programs and by people: no test of behaviour asks for them.
UNREAD_KEYWORDS = frozenset({"encoding", "errors", "newline", "stacklevel", "timeout", "strict", "help", "indent"})


@dataclass(frozen=True)
class Change:
    edit: Edit
    said: str  # `a < b` → `a <= b`


def changes_in(text: SourceText, node: ast.AST) -> Iterator[Change]:
    """Faults that this very node allows; its children are asked apart."""
    for kind, faults in _FAULTS:
        if isinstance(node, kind):
            yield from faults(text, node)


# --- expressions ------------------------------------------------------------------------------------------------------


def _compare(text: SourceText, node: ast.Compare) -> Iterator[Change]:
    sides = [node.left, *node.comparators]
    for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
        yield from _swapped(text, node, left, right, COMPARED[type(operator)])


def _binary(text: SourceText, node: ast.BinOp) -> Iterator[Change]:
    if not _is_format(node):
        yield from _swapped(text, node, node.left, node.right, COMPUTED[type(node.op)])


def _is_format(node: ast.BinOp) -> bool:
    return isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)


def _boolean(text: SourceText, node: ast.BoolOp) -> Iterator[Change]:
    signs = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    for left, right in zip(node.values, node.values[1:], strict=False):
        yield from _swapped(text, node, left, right, signs)


def _swapped(
    text: SourceText, node: ast.expr, left: ast.expr, right: ast.expr, signs: tuple[str, str]
) -> Iterator[Change]:
    start, end, gap = text.between(left, right)
    pattern = r"\s+".join(re.escape(word) for word in signs[0].split())
    found = re.search(pattern, gap)
    if found and "#" not in gap:
        replaced = gap[: found.start()] + signs[1] + gap[found.end() :]
        yield _change(text, node, (start, end, replaced))


def _unary(text: SourceText, node: ast.UnaryOp) -> Iterator[Change]:
    if isinstance(node.op, ast.Not | ast.USub) and not isinstance(node.operand, ast.Constant):
        yield _change(text, node, (*text.span(node), f"({text.code(node.operand)})"))


def _constant(text: SourceText, node: ast.Constant) -> Iterator[Change]:
    value, span = node.value, text.span(node)
    if isinstance(value, bool):
        yield _change(text, node, (*span, str(not value)))
    elif isinstance(value, int | float):
        yield _change(text, node, (*span, repr(value + 1)))
    elif isinstance(value, str) and b"\n" not in text.data[slice(*span)]:
        yield _change(text, node, (*span, json.dumps(f"{value[:20]}~")))


def _call(text: SourceText, node: ast.Call) -> Iterator[Change]:
    if not isinstance(node.func, ast.Name):
        return
    if node.func.id in CALLED:
        yield _change(text, node, (*text.span(node.func), CALLED[node.func.id]))
    elif node.func.id == "range" and node.args and not isinstance(node.args[-1], ast.Constant | ast.Starred):
        last = node.args[1] if len(node.args) > 1 else node.args[0]
        yield _change(text, node, (*text.span(last), f"({text.code(last)}) + 1"))


def _slice(text: SourceText, node: ast.Subscript) -> Iterator[Change]:
    if isinstance(node.slice, ast.Slice):
        for bound in (node.slice.lower, node.slice.upper):
            if bound is not None and not isinstance(bound, ast.Constant):
                yield _change(text, node, (*text.span(bound), f"({text.code(bound)}) + 1"))


def _choice(text: SourceText, node: ast.IfExp) -> Iterator[Change]:
    yield _change(text, node, _negation(text, node.test))


def _comprehension(text: SourceText, node: ast.comprehension) -> Iterator[Change]:
    for condition in node.ifs:
        yield _change(text, condition, _negation(text, condition))


# --- statements -------------------------------------------------------------------------------------------------------


def _condition(text: SourceText, node: ast.If) -> Iterator[Change]:
    yield _change(text, node.test, _negation(text, node.test))
    if node.orelse:
        yield Change(
            (*text.span(node.test), f"({text.code(node.test)}) or 1"), f"`{shown(text.code(node.test))}` always holds"
        )


def _loop(text: SourceText, node: ast.While) -> Iterator[Change]:
    if not isinstance(node.test, ast.Constant):
        yield Change(
            (*text.span(node.test), f"({text.code(node.test)}) and 0"),
            f"`while {shown(text.code(node.test))}` never runs",
        )


def _negation(text: SourceText, test: ast.expr) -> Edit:
    return (*text.span(test), f"not ({text.code(test)})")


def _return(text: SourceText, node: ast.Return) -> Iterator[Change]:
    value = node.value
    if value is not None and not (isinstance(value, ast.Constant) and value.value is None):
        said = f"`{shown(text.code(node))}` → `return None`"
        yield Change((*text.span(value), f"None if 1 else ({text.code(value)})"), said)


def _augmented(text: SourceText, node: ast.AugAssign) -> Iterator[Change]:
    old, new = COMPUTED[type(node.op)]
    start, end, gap = text.between(node.target, node.value)
    if f"{old}=" in gap and "#" not in gap:
        yield _change(text, node, (start, end, gap.replace(f"{old}=", f"{new}=")))
    yield from _removed(text, node)


def _removed(text: SourceText, node: ast.stmt) -> Iterator[Change]:
    start, _ = text.span(node)
    if not text.data[start - node.col_offset : start].strip():  # it has its line to itself
        yield Change((start, start, "if 0: "), f"`{shown(text.code(node))}` removed")


def _assigned(text: SourceText, node: ast.Assign) -> Iterator[Change]:
    if any(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets):
        yield from _removed(text, node)


def _expression(text: SourceText, node: ast.Expr) -> Iterator[Change]:
    if isinstance(node.value, ast.Call | ast.Await):
        yield from _removed(text, node)


_FAULTS: tuple[tuple[type[ast.AST], Callable[[SourceText, Any], Iterator[Change]]], ...] = (
    (ast.Compare, _compare),
    (ast.BinOp, _binary),
    (ast.BoolOp, _boolean),
    (ast.UnaryOp, _unary),
    (ast.Constant, _constant),
    (ast.Call, _call),
    (ast.Subscript, _slice),
    (ast.IfExp, _choice),
    (ast.comprehension, _comprehension),
    (ast.If, _condition),
    (ast.While, _loop),
    (ast.Return, _return),
    (ast.AugAssign, _augmented),
    (ast.Raise, _removed),
    (ast.Assign, _assigned),
    (ast.Expr, _expression),
)


def _change(text: SourceText, node: ast.expr | ast.stmt, edit: Edit) -> Change:
    start, end = text.span(node)
    before = text.data[start:end].decode()
    after = (text.data[start : edit[0]] + edit[2].encode() + text.data[edit[1] : end]).decode()
    return Change(edit, f"`{shown(before)}` → `{shown(after)}`")
