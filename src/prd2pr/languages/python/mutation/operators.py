"""Mutation operators, which introduce small faults by editing the source.

An edit keeps line numbers and every name that the statement uses, so that a function's code object, including closures,
can be replaced in a running process.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from prd2pr.languages.mutation_plan import Edit
from prd2pr.languages.python.source_text import SourceText, clip_code

COMPARISON_SWAPS: dict[type[ast.cmpop], tuple[str, str]] = {
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
ARITHMETIC_SWAPS: dict[type[ast.operator], tuple[str, str]] = {
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
CALL_SWAPS = {"min": "max", "max": "min", "any": "all", "all": "any"}
# These do not change tested behavior.
IGNORED_KEYWORDS = frozenset({"encoding", "errors", "newline", "stacklevel", "timeout", "strict", "help", "indent"})


@dataclass(frozen=True)
class Mutation:
    edit: Edit
    description: str  # `a < b` → `a <= b`


def mutate_node(text: SourceText, node: ast.AST) -> Iterator[Mutation]:
    """Yield the mutations of the node itself, without its children."""
    for kind, operator in _OPERATORS:
        if isinstance(node, kind):
            yield from operator(text, node)


# --- expressions ------------------------------------------------------------------------------------------------------


def _swap_comparison(text: SourceText, node: ast.Compare) -> Iterator[Mutation]:
    sides = [node.left, *node.comparators]
    for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
        yield from _swap_operator(text, node, left, right, COMPARISON_SWAPS[type(operator)])


def _swap_arithmetic(text: SourceText, node: ast.BinOp) -> Iterator[Mutation]:
    if not _is_string_format(node):
        yield from _swap_operator(text, node, node.left, node.right, ARITHMETIC_SWAPS[type(node.op)])


def _is_string_format(node: ast.BinOp) -> bool:
    return isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)


def _swap_boolean(text: SourceText, node: ast.BoolOp) -> Iterator[Mutation]:
    signs = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    for left, right in zip(node.values, node.values[1:], strict=False):
        yield from _swap_operator(text, node, left, right, signs)


def _swap_operator(
    text: SourceText, node: ast.expr, left: ast.expr, right: ast.expr, signs: tuple[str, str]
) -> Iterator[Mutation]:
    start, end, gap = text.text_between(left, right)
    pattern = r"\s+".join(re.escape(word) for word in signs[0].split())
    found = re.search(pattern, gap)
    if found and "#" not in gap:
        replaced = gap[: found.start()] + signs[1] + gap[found.end() :]
        yield _make_mutation(text, node, (start, end, replaced))


def _drop_unary(text: SourceText, node: ast.UnaryOp) -> Iterator[Mutation]:
    if isinstance(node.op, ast.Not | ast.USub) and not isinstance(node.operand, ast.Constant):
        yield _make_mutation(text, node, (*text.span(node), f"({text.code(node.operand)})"))


def _change_constant(text: SourceText, node: ast.Constant) -> Iterator[Mutation]:
    value, span = node.value, text.span(node)
    if isinstance(value, bool):
        yield _make_mutation(text, node, (*span, str(not value)))
    elif isinstance(value, int | float):
        yield _make_mutation(text, node, (*span, repr(value + 1)))
    elif isinstance(value, str) and b"\n" not in text.data[slice(*span)]:
        yield _make_mutation(text, node, (*span, json.dumps(f"{value[:20]}~")))


def _swap_call(text: SourceText, node: ast.Call) -> Iterator[Mutation]:
    if not isinstance(node.func, ast.Name):
        return
    if node.func.id in CALL_SWAPS:
        yield _make_mutation(text, node, (*text.span(node.func), CALL_SWAPS[node.func.id]))
    elif node.func.id == "range" and node.args and not isinstance(node.args[-1], ast.Constant | ast.Starred):
        last = node.args[1] if len(node.args) > 1 else node.args[0]
        yield _make_mutation(text, node, (*text.span(last), f"({text.code(last)}) + 1"))


def _shift_slice(text: SourceText, node: ast.Subscript) -> Iterator[Mutation]:
    if isinstance(node.slice, ast.Slice):
        for bound in (node.slice.lower, node.slice.upper):
            if bound is not None and not isinstance(bound, ast.Constant):
                yield _make_mutation(text, node, (*text.span(bound), f"({text.code(bound)}) + 1"))


def _negate_conditional(text: SourceText, node: ast.IfExp) -> Iterator[Mutation]:
    yield _make_mutation(text, node, _negate(text, node.test))


def _negate_filter(text: SourceText, node: ast.comprehension) -> Iterator[Mutation]:
    for condition in node.ifs:
        yield _make_mutation(text, condition, _negate(text, condition))


# --- statements -------------------------------------------------------------------------------------------------------


def _negate_if(text: SourceText, node: ast.If) -> Iterator[Mutation]:
    yield _make_mutation(text, node.test, _negate(text, node.test))
    if node.orelse:
        yield Mutation(
            (*text.span(node.test), f"({text.code(node.test)}) or 1"),
            f"`{clip_code(text.code(node.test))}` always holds",
        )


def _skip_loop(text: SourceText, node: ast.While) -> Iterator[Mutation]:
    if not isinstance(node.test, ast.Constant):
        yield Mutation(
            (*text.span(node.test), f"({text.code(node.test)}) and 0"),
            f"`while {clip_code(text.code(node.test))}` never runs",
        )


def _negate(text: SourceText, test: ast.expr) -> Edit:
    return (*text.span(test), f"not ({text.code(test)})")


def _return_none(text: SourceText, node: ast.Return) -> Iterator[Mutation]:
    value = node.value
    if value is not None and not (isinstance(value, ast.Constant) and value.value is None):
        description = f"`{clip_code(text.code(node))}` → `return None`"
        yield Mutation((*text.span(value), f"None if 1 else ({text.code(value)})"), description)


def _swap_augmented(text: SourceText, node: ast.AugAssign) -> Iterator[Mutation]:
    old, new = ARITHMETIC_SWAPS[type(node.op)]
    start, end, gap = text.text_between(node.target, node.value)
    if f"{old}=" in gap and "#" not in gap:
        yield _make_mutation(text, node, (start, end, gap.replace(f"{old}=", f"{new}=")))
    yield from _remove_statement(text, node)


def _remove_statement(text: SourceText, node: ast.stmt) -> Iterator[Mutation]:
    start, _ = text.span(node)
    if not text.data[start - node.col_offset : start].strip():  # the statement is alone on its line
        yield Mutation((start, start, "if 0: "), f"`{clip_code(text.code(node))}` removed")


def _remove_assignment(text: SourceText, node: ast.Assign) -> Iterator[Mutation]:
    if any(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets):
        yield from _remove_statement(text, node)


def _remove_call(text: SourceText, node: ast.Expr) -> Iterator[Mutation]:
    if isinstance(node.value, ast.Call | ast.Await):
        yield from _remove_statement(text, node)


_OPERATORS: tuple[tuple[type[ast.AST], Callable[[SourceText, Any], Iterator[Mutation]]], ...] = (
    (ast.Compare, _swap_comparison),
    (ast.BinOp, _swap_arithmetic),
    (ast.BoolOp, _swap_boolean),
    (ast.UnaryOp, _drop_unary),
    (ast.Constant, _change_constant),
    (ast.Call, _swap_call),
    (ast.Subscript, _shift_slice),
    (ast.IfExp, _negate_conditional),
    (ast.comprehension, _negate_filter),
    (ast.If, _negate_if),
    (ast.While, _skip_loop),
    (ast.Return, _return_none),
    (ast.AugAssign, _swap_augmented),
    (ast.Raise, _remove_statement),
    (ast.Assign, _remove_assignment),
    (ast.Expr, _remove_call),
)


def _make_mutation(text: SourceText, node: ast.expr | ast.stmt, edit: Edit) -> Mutation:
    start, end = text.span(node)
    before = text.data[start:end].decode()
    after = (text.data[start : edit[0]] + edit[2].encode() + text.data[edit[1] : end]).decode()
    return Mutation(edit, f"`{clip_code(before)}` → `{clip_code(after)}`")
