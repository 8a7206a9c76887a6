"""Expected values in assertions, each to be replaced by another: the test must fail then.

A test that goes on passing does not compare: an `__eq__` that is always true, a stand-in that equals anything, a
subject that reads from its caller what it should answer.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass

from prd2pr.core.bite.text import Edit, SourceText, shown
from prd2pr.core.testfacts_model import FunctionNode, dotted

PERTURBED = "__perturbed__"  # stands for a function that gives another value; its real name is drawn for each run
EQUAL = frozenset(
    [
        "assertEqual",
        "assertAlmostEqual",
        "assertIs",
        "assertListEqual",
        "assertDictEqual",
        "assertTupleEqual",
        "assertSetEqual",
        "assertSequenceEqual",
        "assertMultiLineEqual",
        "assertCountEqual",
        "assert_equal",
        "assert_array_equal",
        "assert_allclose",
    ]
)
CALLED_WITH = frozenset({"assert_called_with", "assert_called_once_with", "assert_any_call"})
ANYTHING = frozenset({"ANY"})
MODEST = 1e15  # beyond it, a number and the next are the same to some


@dataclass(frozen=True)
class Expectation:
    statement: ast.stmt
    top: ast.stmt
    function: str
    edit: Edit
    said: str


def expectations_in(text: SourceText) -> Iterator[Expectation]:
    for top in text.tree.body:
        yield from _in_body(text, [top], top, "")


def _in_body(text: SourceText, body: list[ast.stmt], top: ast.stmt, function: str) -> Iterator[Expectation]:
    for node in body:
        name = node.name if isinstance(node, FunctionNode | ast.ClassDef) else ""
        if name:
            yield from _in_body(text, node.body, top, f"{function}.{name}" if function else name)  # type: ignore[attr-defined]
            continue
        for edit, said in _of_statement(text, node):
            yield Expectation(node, top, function, edit, said)
        for part in _inner_bodies(node):
            yield from _in_body(text, part, top, function)


def _inner_bodies(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Not where a failed assertion would be caught: there another expectation changes nothing."""
    if isinstance(node, ast.With | ast.AsyncWith) and any(_catches(item.context_expr) for item in node.items):
        return
    if isinstance(node, ast.Try) and node.handlers:
        yield from (node.orelse, node.finalbody)
        return
    for part in ("body", "orelse", "finalbody"):
        inner = getattr(node, part, None)
        if isinstance(inner, list):
            yield inner
    for case in getattr(node, "cases", ()):
        yield case.body


def _catches(context: ast.expr) -> bool:
    name = dotted(context.func if isinstance(context, ast.Call) else context).rpartition(".")[2]
    return name in {"raises", "suppress", "assertRaises", "assertRaisesRegex", "warns"}


# --- one statement ----------------------------------------------------------------------------------------------------


def _of_statement(text: SourceText, node: ast.stmt) -> Iterator[tuple[Edit, str]]:
    if isinstance(node, ast.Assert):
        yield from _of_test(text, node.test)
    elif isinstance(node, ast.With | ast.AsyncWith):
        for item in node.items:
            yield from _of_raises(text, item.context_expr)
    elif isinstance(node, ast.Expr):
        call = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(call, ast.Call):
            yield from _of_call(text, call)


def _of_test(text: SourceText, test: ast.expr) -> Iterator[tuple[Edit, str]]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for part in test.values:
            yield from _of_test(text, part)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1:
        left, right = test.left, test.comparators[0]
        if isinstance(test.ops[0], ast.Eq | ast.Is):
            yield from _of_sides(text, left, right, exact=True)
        elif isinstance(test.ops[0], ast.In):
            yield from _of_membership(text, left, right)


def _of_sides(text: SourceText, left: ast.expr, right: ast.expr, *, exact: bool = False) -> Iterator[tuple[Edit, str]]:
    """What is written down is what is expected. Where neither side is, each of them may be."""
    near = [side for side in (left, right) if _approximated(side)]
    written = [side for side in (right, left) if _is_written(side)]
    for side in near or written[:1] or (right, left):
        if not _is_anything(side):
            yield _other(text, _approximated(side) or side, near=exact and not near)


def _of_membership(text: SourceText, left: ast.expr, right: ast.expr) -> Iterator[tuple[Edit, str]]:
    if _is_written(left):
        yield _other(text, left, "member")
    elif _is_written(right):
        yield _other(text, right, "container")


def _of_raises(text: SourceText, context: ast.expr) -> Iterator[tuple[Edit, str]]:
    if not isinstance(context, ast.Call):
        return
    name = dotted(context.func).rpartition(".")[2]
    if name == "raises":
        for keyword in context.keywords:
            if keyword.arg == "match" and not _is_empty(keyword.value):
                yield _other(text, keyword.value, "pattern")
    elif name == "assertRaisesRegex" and len(context.args) == 2:
        yield _other(text, context.args[1], "pattern")


def _of_call(text: SourceText, call: ast.Call) -> Iterator[tuple[Edit, str]]:
    name = dotted(call.func).rpartition(".")[2] or getattr(call.func, "attr", "")
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return
    if name in EQUAL and len(call.args) >= 2:
        yield from _of_sides(text, call.args[0], call.args[1])
    elif name == "assertIn" and len(call.args) >= 2:
        yield from _of_membership(text, call.args[0], call.args[1])
    elif name in CALLED_WITH:
        given = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg)]
        for value in [each for each in given if not _is_anything(each)][:1]:
            yield _other(text, value)


def _other(text: SourceText, node: ast.expr, role: str = "", *, near: bool = False) -> tuple[Edit, str]:
    """A plain value becomes another plain one: whoever reads the test, to answer what it expects, reads that.

    `near`: nothing but the very value may do, so the next one must not.
    """
    code = text.code(node)
    said = f"another value than `{shown(code)}`"
    if isinstance(node, ast.Constant) and not role and "\n" not in code and (plain := _plain_other(node.value, near)):
        return (*text.span(node), plain), said
    role = f', "{role}"' if role else ""
    if isinstance(node, ast.GeneratorExp | ast.NamedExpr | ast.Tuple):
        code = f"({code})"
    return (*text.span(node), f"{PERTURBED}({code}{role})"), said


def _plain_other(value: object, near: bool) -> str:
    if isinstance(value, bool):
        return repr(not value)
    if near and isinstance(value, int) and abs(value) < MODEST:
        return repr(value + 1)
    if isinstance(value, int | float) and abs(value) < MODEST:
        return repr(value + abs(value) + 1)
    return json.dumps(f"{value} and more") if isinstance(value, str) and value else ""


def _approximated(node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] == "approx" and node.args:
        return node.args[0]
    return None


def _is_written(node: ast.expr) -> bool:
    """A literal, or built of literals."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.UnaryOp):
        return _is_written(node.operand)
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return all(_is_written(each) for each in node.elts)
    if isinstance(node, ast.Dict):
        return all(each is not None and _is_written(each) for each in (*node.keys, *node.values))
    return isinstance(node, ast.BinOp) and _is_written(node.left) and _is_written(node.right)


def _is_anything(node: ast.expr) -> bool:
    return dotted(node).rpartition(".")[2] in ANYTHING


def _is_empty(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value
