"""Plans perturbations: one expected value of an assertion is replaced at a time, and the test must then fail.

If the test still passes, it does not compare this value. Possible causes are an `__eq__` that is always true, a mock
that equals anything, or code under test that reads the expected value from its caller.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass

from prd2pr.languages.mutation_plan import Edit
from prd2pr.languages.python.source_text import SourceText, clip_code
from prd2pr.languages.python.test_model.module import FunctionNode, get_dotted_name

PERTURBATION_PLACEHOLDER = "__perturbed__"  # replaced with a randomly named function that returns another value
EQUALITY_ASSERTIONS = frozenset(
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
CALL_ASSERTIONS = frozenset({"assert_called_with", "assert_called_once_with", "assert_any_call"})
WILDCARDS = frozenset({"ANY"})
MAX_EXACT_NUMBER = 1e15  # above this, a float may equal the next integer


@dataclass(frozen=True)
class Expectation:
    """An expected value in a test, and the edit that replaces it."""

    statement: ast.stmt
    top: ast.stmt
    function: str
    edit: Edit
    description: str


def find_expectations(text: SourceText) -> Iterator[Expectation]:
    """Yield the expected values of all assertions in a test file."""
    for top in text.tree.body:
        yield from _find_in_body(text, [top], top, "")


def _find_in_body(text: SourceText, body: list[ast.stmt], top: ast.stmt, function: str) -> Iterator[Expectation]:
    for node in body:
        name = node.name if isinstance(node, FunctionNode | ast.ClassDef) else ""
        if name:
            yield from _find_in_body(text, node.body, top, f"{function}.{name}" if function else name)  # type: ignore[attr-defined]
            continue
        for edit, description in _perturb_statement(text, node):
            yield Expectation(node, top, function, edit, description)
        for part in _list_inner_bodies(node):
            yield from _find_in_body(text, part, top, function)


def _list_inner_bodies(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the nested bodies, except those in which a failed assertion would be caught."""
    if isinstance(node, ast.With | ast.AsyncWith) and any(
        _catches_exceptions(item.context_expr) for item in node.items
    ):
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


def _catches_exceptions(context: ast.expr) -> bool:
    name = get_dotted_name(context.func if isinstance(context, ast.Call) else context).rpartition(".")[2]
    return name in {"raises", "suppress", "assertRaises", "assertRaisesRegex", "warns"}


# --- one statement ----------------------------------------------------------------------------------------------------


def _perturb_statement(text: SourceText, node: ast.stmt) -> Iterator[tuple[Edit, str]]:
    if isinstance(node, ast.Assert):
        yield from _perturb_condition(text, node.test)
    elif isinstance(node, ast.With | ast.AsyncWith):
        for item in node.items:
            yield from _perturb_raises(text, item.context_expr)
    elif isinstance(node, ast.Expr):
        call = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(call, ast.Call):
            yield from _perturb_call(text, call)


def _perturb_condition(text: SourceText, test: ast.expr) -> Iterator[tuple[Edit, str]]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for part in test.values:
            yield from _perturb_condition(text, part)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1:
        left, right = test.left, test.comparators[0]
        if isinstance(test.ops[0], ast.Eq | ast.Is):
            yield from _perturb_sides(text, left, right, exact=True)
        elif isinstance(test.ops[0], ast.In):
            yield from _perturb_membership(text, left, right)


def _perturb_sides(
    text: SourceText, left: ast.expr, right: ast.expr, *, exact: bool = False
) -> Iterator[tuple[Edit, str]]:
    """Perturb the literal side of a comparison, or both sides if neither is a literal."""
    approximate = [side for side in (left, right) if _get_approx_argument(side)]
    literals = [side for side in (right, left) if _is_literal(side)]
    for side in approximate or literals[:1] or (right, left):
        if not _is_wildcard(side):
            yield _perturb(text, _get_approx_argument(side) or side, near=exact and not approximate)


def _perturb_membership(text: SourceText, left: ast.expr, right: ast.expr) -> Iterator[tuple[Edit, str]]:
    if _is_literal(left):
        yield _perturb(text, left, "member")
    elif _is_literal(right):
        yield _perturb(text, right, "container")


def _perturb_raises(text: SourceText, context: ast.expr) -> Iterator[tuple[Edit, str]]:
    if not isinstance(context, ast.Call):
        return
    name = get_dotted_name(context.func).rpartition(".")[2]
    if name == "raises":
        for keyword in context.keywords:
            if keyword.arg == "match" and not _is_empty_literal(keyword.value):
                yield _perturb(text, keyword.value, "pattern")
    elif name == "assertRaisesRegex" and len(context.args) == 2:
        yield _perturb(text, context.args[1], "pattern")


def _perturb_call(text: SourceText, call: ast.Call) -> Iterator[tuple[Edit, str]]:
    name = get_dotted_name(call.func).rpartition(".")[2] or getattr(call.func, "attr", "")
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return
    if name in EQUALITY_ASSERTIONS and len(call.args) >= 2:
        yield from _perturb_sides(text, call.args[0], call.args[1])
    elif name == "assertIn" and len(call.args) >= 2:
        yield from _perturb_membership(text, call.args[0], call.args[1])
    elif name in CALL_ASSERTIONS:
        given = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg)]
        for value in [each for each in given if not _is_wildcard(each)][:1]:
            yield _perturb(text, value)


def _perturb(text: SourceText, node: ast.expr, role: str = "", *, near: bool = False) -> tuple[Edit, str]:
    """Return the edit that replaces a value, and its description.

    A literal is replaced by another literal, so that code which reads the test's source sees the new value too. `near`
    selects an adjacent value, because the comparison is exact.
    """
    code = text.code(node)
    description = f"another value than `{clip_code(code)}`"
    if (
        isinstance(node, ast.Constant)
        and not role
        and "\n" not in code
        and (literal := _make_other_literal(node.value, near))
    ):
        return (*text.span(node), literal), description
    role = f', "{role}"' if role else ""
    if isinstance(node, ast.GeneratorExp | ast.NamedExpr | ast.Tuple):
        code = f"({code})"
    return (*text.span(node), f"{PERTURBATION_PLACEHOLDER}({code}{role})"), description


def _make_other_literal(value: object, near: bool) -> str:
    if isinstance(value, bool):
        return repr(not value)
    if near and isinstance(value, int) and abs(value) < MAX_EXACT_NUMBER:
        return repr(value + 1)
    if isinstance(value, int | float) and abs(value) < MAX_EXACT_NUMBER:
        return repr(value + abs(value) + 1)
    return json.dumps(f"{value} and more") if isinstance(value, str) and value else ""


def _get_approx_argument(node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Call) and get_dotted_name(node.func).rpartition(".")[2] == "approx" and node.args:
        return node.args[0]
    return None


def _is_literal(node: ast.expr) -> bool:
    """Return whether the node is a literal or consists only of literals."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.UnaryOp):
        return _is_literal(node.operand)
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return all(_is_literal(each) for each in node.elts)
    if isinstance(node, ast.Dict):
        return all(each is not None and _is_literal(each) for each in (*node.keys, *node.values))
    return isinstance(node, ast.BinOp) and _is_literal(node.left) and _is_literal(node.right)


def _is_wildcard(node: ast.expr) -> bool:
    return get_dotted_name(node).rpartition(".")[2] in WILDCARDS


def _is_empty_literal(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value
