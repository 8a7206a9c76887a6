"""GRN402 and GRN416: source that contains the expected values of its tests instead of the rule behind them.

A table may describe the real world, such as the names of months or a price list. It is reported (GRN416) only if it
contains nothing but the tests' examples and these are not a list of names, that is, if a simple rule explains them all
or the inputs are scattered numbers or whole lists.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from prd2pr.domain.results.finding_kind import FindingKind, define_error, define_warning
from prd2pr.languages.python.examples import CallExample, find_examples
from prd2pr.languages.python.rules.source_code.source_module import SourceFault
from prd2pr.languages.python.test_model.module import FunctionNode, get_dotted_name, parse_python, unparse_node
from prd2pr.languages.python.test_naming import DEFAULT_NAMING, TestNaming

FINDINGS: tuple[FindingKind, ...] = (
    define_warning(
        "GRN402",
        "the source contains literals from the tests",
        "Expected values of the tests occur in the source next to the inputs that the tests use. This may be a "
        "lookup table instead of the rule.",
        bad="def redeem(total, points):\n"
        "    if (total, points) == (137, 47):\n"
        "        return 90\n"
        "    if (total, points) == (215, 31):\n"
        "        return 184\n"
        "    return 0",
        good="def redeem(total, points):\n    return total - points",
        remedy="implement the rule behind the examples, if there is one.",
    ),
    define_error(
        "GRN416",
        "a lookup table of the tests' examples replaces the rule",
        "The function returns the expected values of the tests and nothing else, and the examples are not a list "
        "of names: a simple rule explains them, or the inputs are scattered numbers. This is checked in the code "
        "and by calling it: of the inputs similar to those of the tests, none gets a result.",
        bad="def redeem(total, points):\n    return {(137, 47): 90, (215, 31): 184}[total, points]",
        good="def redeem(total, points):\n    return total - points",
        remedy="implement the rule behind the examples. If the values are a real-world list, include the whole list "
        "and handle values that are not in it.",
    ),
)


MIN_POINTS = 3  # points on one line that rule out coincidence
MIN_LETTERS = 4  # minimum length of a string with the same letters as its input
ExampleCase = tuple[tuple[Any, ...], Any]  # arguments and expected result
_NOT_LITERAL = object()
_STATUS_VALUES = frozenset({"0", "1", "2", "None", "True", "False"})
_TRIVIAL_LITERALS: frozenset[str] = frozenset(repr(value) for value in (0, 1, -1, 2, "", True, False, None, 0.0, 1.0))
_SIMPLE_RULES: tuple[Callable[..., Any], ...] = (
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / b,
    lambda a, b: a // b,
    lambda text: text[::-1],
    lambda text: text.upper(),
    lambda text: text.lower(),
    lambda text: text.strip(),
    lambda text: text.title(),
    lambda text: text == text[::-1],
    len,
    sum,
    max,
    min,
    sorted,
)


# --- GRN416: a table of the examples ----------------------------------------------------------------------------------


def check_lookup_tables(
    old: str, new: str, tests: Mapping[str, str], naming: TestNaming = DEFAULT_NAMING
) -> Iterator[SourceFault]:
    tree, before = parse_python(new), parse_python(old)
    if tree is None:
        return
    known = {ast.dump(node) for node in before.body} if before else set()
    examples = [each for path, text in tests.items() for each in find_examples(path, text, naming) if each.function]
    constants = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for node in tree.body:
        if isinstance(node, FunctionNode) and ast.dump(node) not in known:
            cases = _list_cases(node.name, examples)
            if cases and _is_lookup_table(node, cases, constants):
                message = f"`{node.name}` contains the results of {len(cases)} test examples, but no rule"
                yield SourceFault("GRN416", message, node.lineno, message)


def _list_cases(name: str, examples: list[CallExample]) -> list[ExampleCase]:
    found = {(each.arguments, each.expected): each for each in examples if each.function.rpartition(".")[2] == name}
    return [(tuple(map(ast.literal_eval, given)), ast.literal_eval(answer)) for given, answer in found]


def _is_lookup_table(function: FunctionNode, cases: list[ExampleCase], constants: Mapping[str, ast.expr]) -> bool:
    answers = _FunctionAnswers(function, constants)
    if not answers.returns_only_literals or not {repr(answer) for _, answer in cases} <= answers.answers:
        return False
    unasked = sum(not _is_compared(given, answers.compared_values) for given, _ in cases)
    by_input = answers.compares_only_equality and not unasked
    inputs = {repr(each) for given, _ in cases for each in (*given, given)}
    nothing_else = answers.answers <= {repr(answer) for _, answer in cases} | inputs | {"None", "0", "''", "False"}
    lists = any(isinstance(each, list | dict) and each for given, _ in cases for each in given)
    if by_input and lists and any(repr(answer) not in _STATUS_VALUES for _, answer in cases):
        return True  # only command-line programs plausibly compare with a whole list
    if len(cases) < 2 or not nothing_else or len({repr(answer) for _, answer in cases}) < 2:
        return False
    if has_same_letters(cases) or (by_input and has_scattered_numbers(cases)):
        return True
    return answers.compares_only_equality and unasked <= 1 and has_simple_rule(cases)  # one case may be the default


def _is_compared(given: tuple[Any, ...], questions: set[str]) -> bool:
    whole = {repr(given), repr(given[0]), repr(str(given[0]))} if len(given) == 1 else {repr(given)}
    return bool(whole & questions) or all(repr(each) in questions for each in given)


class _FunctionAnswers:
    """The values that a function compares with and those that it may return."""

    def __init__(self, function: FunctionNode, constants: Mapping[str, ast.expr]) -> None:
        self._constants = constants
        self._parameters = {argument.arg for argument in function.args.args}
        self._local = {
            target.id: node.value
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        self.answers: set[str] = set()
        self.compared_values: set[str] = set()
        self.returns_only_literals = self.compares_only_equality = True
        returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
        for each in returned:
            self._read_answer(each, 4)
        self._read_comparisons(function)
        self.returns_only_literals = self.returns_only_literals and bool(returned)

    def _read_answer(self, node: ast.expr | None, depth: int) -> None:
        if node is None or depth == 0:
            self.returns_only_literals = self.returns_only_literals and node is None
        elif isinstance(node, ast.IfExp):
            self._read_answer(node.body, depth)
            self._read_answer(node.orelse, depth)
        elif (table := self._find_table(node)) is not None:
            self._read_entries(table)
            for default in node.args[1:] if isinstance(node, ast.Call) else ():
                self._read_answer(default, depth - 1)
        elif (value := _evaluate_literal(node)) is not _NOT_LITERAL:
            self.answers.add(repr(value))
        elif isinstance(node, ast.Name) and (node.id in self._local or node.id in self._constants):
            self._read_answer(self._local.get(node.id) or self._constants[node.id], depth - 1)
        elif not (isinstance(node, ast.Name) and node.id in self._parameters):
            self.returns_only_literals = False

    def _find_table(self, node: ast.expr) -> ast.Dict | None:
        """Return the table of `TABLE[x]` or `TABLE.get(x, 0)`."""
        owner: ast.expr | None = None
        if isinstance(node, ast.Subscript):
            owner = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            owner = node.func.value
        name = get_dotted_name(owner) if owner is not None else ""
        table = self._local.get(name) or self._constants.get(name) or owner
        return table if isinstance(table, ast.Dict) else None

    def _read_entries(self, table: ast.Dict) -> None:
        for key, value in zip(table.keys, table.values, strict=True):
            compared, answer = (_evaluate_literal(each) if each is not None else _NOT_LITERAL for each in (key, value))
            if compared is _NOT_LITERAL or answer is _NOT_LITERAL:
                self.returns_only_literals = False
                return
            self.compared_values.add(repr(compared))
            self.answers.add(repr(answer))

    def _read_comparisons(self, function: FunctionNode) -> None:
        for node in ast.walk(function):
            if isinstance(node, ast.Compare):
                self.compares_only_equality = self.compares_only_equality and all(
                    isinstance(op, ast.Eq | ast.In) for op in node.ops
                )
                self._read_literals(node)
            elif isinstance(node, ast.match_case):
                self._read_literals(node.pattern)
            elif isinstance(node, ast.BinOp | ast.For | ast.While):
                self.compares_only_equality = False

    def _read_literals(self, node: ast.AST) -> None:
        for each in ast.walk(node):
            if isinstance(each, ast.expr) and (value := _evaluate_literal(each)) is not _NOT_LITERAL:
                self.compared_values.add(repr(value))


def _evaluate_literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _NOT_LITERAL


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def has_scattered_numbers(cases: list[ExampleCase]) -> bool:
    """Return whether scattered numbers map to numbers or booleans.

    Consecutive inputs do not count, because they may be positions, levels or months.
    """
    if len(cases) < MIN_POINTS or not all(is_number(each) for given, _ in cases for each in given):
        return False
    if not all(is_number(answer) or isinstance(answer, bool) for _, answer in cases):
        return False
    if len(cases[0][0]) > 1:
        return True
    inputs = sorted(given[0] for given, _ in cases)
    return inputs != [inputs[0] + step for step in range(len(inputs))]


def has_same_letters(cases: list[ExampleCase]) -> bool:
    """Return whether every result consists of the letters of its input, such as `"hello-world"` for `"Hello World"`."""
    return all(
        len(given) == 1
        and isinstance(given[0], str)
        and isinstance(answer, str)
        and _sort_letters(given[0]) == _sort_letters(answer)
        for given, answer in cases
    ) and any(len(_sort_letters(answer)) >= MIN_LETTERS and answer != given[0] for given, answer in cases)


def _sort_letters(text: str) -> list[str]:
    return sorted(each for each in text.lower() if each.isalnum())


def has_simple_rule(cases: list[ExampleCase]) -> bool:
    counts = {len(given) for given, _ in cases}
    if counts == {1} and all(is_number(each) for given, answer in cases for each in (given[0], answer)):
        return _is_linear([(given[0], answer) for given, answer in cases])
    return len(counts) == 1 and any(_explains(rule, cases) for rule in _SIMPLE_RULES)


def _is_linear(points: list[tuple[float, float]]) -> bool:
    if len(points) < MIN_POINTS or len({x for x, _ in points}) < MIN_POINTS:
        return False
    inputs = sorted(x for x, _ in points)
    if inputs == [inputs[0] + step for step in range(len(inputs))]:
        return False
    (x, y), (u, v) = points[0], next(point for point in points if point[0] != points[0][0])
    rise = (v - y) / (u - x)
    return rise != 0 and all(math.isclose(y + rise * (a - x), b, abs_tol=1e-6) for a, b in points)


def _explains(rule: Callable[..., Any], cases: list[ExampleCase]) -> bool:
    try:
        return all(repr(rule(*given)) == repr(answer) for given, answer in cases)
    except (TypeError, ValueError, ArithmeticError, AttributeError, LookupError):
        return False


# --- GRN402, GRN415: literals from the tests --------------------------------------------------------------------------


@dataclass(frozen=True)
class LiteralPair:
    """The literal inputs and the expected literal of one asserted example."""

    inputs: frozenset[str]
    output: str


def check_test_literals(old: str, new: str, tests: Mapping[str, str]) -> Iterator[SourceFault]:
    tree, before = parse_python(new), parse_python(old)
    if tree is None:
        return
    examples = [example for text in tests.values() for example in _find_pairs(text)]
    known = {key for key, _, _ in _find_mapped_answers(before)} if before else set()
    hits: dict[int, set[str]] = {}
    for key, node, inputs in _find_mapped_answers(tree):
        if key in known:
            continue
        for example in examples:
            if example.output == key and example.inputs & inputs:
                hits.setdefault(node.lineno, set()).add(example.output)
    answers = set().union(*hits.values())
    # One pair of small numbers may be part of the rule. Two pairs, or one distinctive value, rarely are.
    if len(answers) > 1 or answers - _TRIVIAL_LITERALS:
        message = f"{_format_count(answers)} with the same input in the tests: {_format_answers(answers)}"
        yield SourceFault("GRN402", message, min(hits), message)
    yield from _check_constant_answers(tree, old, examples)
    yield from _check_fallback_answers(tree, old, {example.output for example in examples} - _TRIVIAL_LITERALS)


def _check_fallback_answers(tree: ast.Module, old: str, expected: set[str]) -> Iterator[SourceFault]:
    """Report handlers that return an expected value, as in `except Exception: return "hello-world"`."""
    for node in ast.walk(tree):
        broad = isinstance(node, ast.ExceptHandler) and (
            node.type is None or unparse_node(node.type) in {"Exception", "BaseException"}
        )
        for inner in (x for x in ast.walk(node) if broad and isinstance(x, ast.Return)):
            answer = get_literal_text(inner.value) if inner.value is not None else None
            if answer in expected and unparse_node(inner) not in old:
                message = f"returns `{answer}` after any exception, which is what a test expects"
                yield SourceFault("GRN415", message, inner.lineno, message)


def _format_count(answers: set[str]) -> str:
    return "one result in this source occurs" if len(answers) == 1 else f"{len(answers)} results in this source occur"


def _format_answers(answers: set[str]) -> str:
    return ", ".join(f"`{answer}`" for answer in sorted(answers)[:4])


def _find_pairs(text: str) -> Iterator[LiteralPair]:
    tree = parse_python(text)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "parametrize":
            yield from _find_row_pairs(node)
        if not (isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.Is)):
            continue
        for call, expected in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
            output = get_literal_text(expected)
            if isinstance(call, ast.Call) and output is not None:
                inputs = {value for argument in ast.walk(call) if (value := get_literal_text(argument)) is not None}
                yield LiteralPair(frozenset(inputs - {output}) or frozenset(inputs), output)


def _find_row_pairs(call: ast.Call) -> Iterator[LiteralPair]:
    """Yield the rows of a parametrized test. The last column is usually the expected value."""
    table = call.args[1] if len(call.args) > 1 else None
    for row in table.elts if isinstance(table, ast.List | ast.Tuple) else ():
        cells = row.args if isinstance(row, ast.Call) else row.elts if isinstance(row, ast.Tuple | ast.List) else []
        output = get_literal_text(cells[-1]) if len(cells) > 1 else None
        if output is not None:
            yield LiteralPair(frozenset(value for cell in cells[:-1] for value in _list_literals(cell)), output)


def get_literal_text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and node.value is not None and node.value is not Ellipsis:
        return repr(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return f"-{node.operand.value!r}"
    return None


def _find_mapped_answers(tree: ast.Module) -> Iterator[tuple[str, ast.expr | ast.stmt, frozenset[str]]]:
    """Yield the results given for literal inputs, in tables or under an equality check."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if key is not None and (answer := get_literal_text(value)) is not None:
                    yield answer, node, _list_literals(key)
        elif isinstance(node, ast.List | ast.Tuple | ast.Set) and len(node.elts) > 1:
            yield from _find_paired_answers(node)
        elif isinstance(node, ast.If | ast.IfExp) and (inputs := _list_compared_literals(node.test)):
            body = node.body if isinstance(node.body, list) else [node.body]
            for inner in (x for statement in body for x in ast.walk(statement)):
                if (answer := get_literal_text(inner)) is not None and answer not in inputs:
                    yield answer, node, inputs
        elif isinstance(node, ast.match_case):
            for inner in (x for statement in node.body for x in ast.walk(statement)):
                if (answer := get_literal_text(inner)) is not None:
                    yield answer, node.body[0], _list_literals(node.pattern)


def _find_paired_answers(
    table: ast.List | ast.Tuple | ast.Set,
) -> Iterator[tuple[str, ast.expr | ast.stmt, frozenset[str]]]:
    """Yield the entries of a table written as pairs, such as `[(137, 90), (215, 184)]`."""
    rows = [row for row in table.elts if isinstance(row, ast.Tuple | ast.List) and len(row.elts) > 1]
    for row in rows if len(rows) == len(table.elts) else ():
        answer = get_literal_text(row.elts[-1])
        if answer is not None:
            yield answer, table, frozenset(value for cell in row.elts[:-1] for value in _list_literals(cell))


def _list_literals(node: ast.AST) -> frozenset[str]:
    return frozenset(value for inner in ast.walk(node) if (value := get_literal_text(inner)) is not None)


def _list_compared_literals(test: ast.expr) -> frozenset[str]:
    compares = [
        node for node in ast.walk(test) if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.In)
    ]
    return frozenset().union(*(_list_literals(node) for node in compares))


def _check_constant_answers(tree: ast.Module, old: str, examples: list[LiteralPair]) -> Iterator[SourceFault]:
    """Report functions with parameters that only return the value that a test expects."""
    expected = {example.output for example in examples if example.inputs}
    for node in ast.walk(tree):
        if not (isinstance(node, FunctionNode) and [arg for arg in node.args.args if arg.arg not in {"self", "cls"}]):
            continue
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        if len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None:
            answer = get_literal_text(body[0].value)
            if answer in expected and f"def {node.name}(" not in old:
                message = f"`{node.name}` always returns `{answer}`, which is what a test expects"
                yield SourceFault("GRN402", message, body[0].lineno, message)
