"""GRN416: the answers of the tests, written down by their inputs, where a rule was asked for.

A table may be what the world is like: names of months, prices of a list. It is held against the source only where it
holds the examples of the tests and nothing else, and where they are no list of names: a simple rule explains them all,
or the inputs are numbers here and there, or whole lists.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from prd2pr.core.examples import Example, examples_in
from prd2pr.core.sourcefacts_subject import Sighting
from prd2pr.core.test_naming import USUAL, TestNaming
from prd2pr.core.testfacts_model import FunctionNode, dotted, parse

ENOUGH = 3  # points, from which on a line through them is no chance
SHORTEST = 4  # letters of a text that another one is made of
Case = tuple[tuple[Any, ...], Any]  # arguments and answer


def table_sightings(old: str, new: str, tests: Mapping[str, str], naming: TestNaming = USUAL) -> Iterator[Sighting]:
    tree, before = parse(new), parse(old)
    if tree is None:
        return
    known = {ast.dump(node) for node in before.body} if before else set()
    examples = [each for path, text in tests.items() for each in examples_in(path, text, naming) if each.function]
    constants = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for node in tree.body:
        if isinstance(node, FunctionNode) and ast.dump(node) not in known:
            cases = _cases(node.name, examples)
            if cases and _is_table_of(node, cases, constants):
                said = f"`{node.name}` holds the answers to {len(cases)} examples of the tests, and no rule"
                yield Sighting("GRN416", said, node.lineno, said)


def _cases(name: str, examples: list[Example]) -> list[Case]:
    found = {(each.arguments, each.expected): each for each in examples if each.function.rpartition(".")[2] == name}
    return [(tuple(map(ast.literal_eval, given)), ast.literal_eval(answer)) for given, answer in found]


def _is_table_of(function: FunctionNode, cases: list[Case], constants: Mapping[str, ast.expr]) -> bool:
    reading = _Reading(function, constants)
    if not reading.only_answers or not {repr(answer) for _, answer in cases} <= reading.answers:
        return False
    unasked = sum(not _is_asked(given, reading.questions) for given, _ in cases)
    by_input = reading.only_equal and not unasked
    asked = {repr(each) for given, _ in cases for each in (*given, given)}
    nothing_else = reading.answers <= {repr(answer) for _, answer in cases} | asked | {"None", "0", "''", "False"}
    lists = any(isinstance(each, list | dict) and each for given, _ in cases for each in given)
    if by_input and lists and any(repr(answer) not in _STATUSES for _, answer in cases):
        return True  # nobody asks for a very list, unless it is of words on a command line
    if len(cases) < 2 or not nothing_else or len({repr(answer) for _, answer in cases}) < 2:
        return False
    if is_spelt_out(cases) or (by_input and numbers_here_and_there(cases)):
        return True
    return reading.only_equal and unasked <= 1 and has_rule(cases)  # one may be what is left over


def _is_asked(given: tuple[Any, ...], questions: set[str]) -> bool:
    whole = {repr(given), repr(given[0]), repr(str(given[0]))} if len(given) == 1 else {repr(given)}
    return bool(whole & questions) or all(repr(each) in questions for each in given)


class _Reading:
    """What a function compares its arguments with, and what it may answer."""

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
        self.questions: set[str] = set()
        self.only_answers = self.only_equal = True
        returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
        for each in returned:
            self._answer(each, 4)
        self._ask(function)
        self.only_answers = self.only_answers and bool(returned)

    def _answer(self, node: ast.expr | None, depth: int) -> None:
        if node is None or depth == 0:
            self.only_answers = self.only_answers and node is None
        elif isinstance(node, ast.IfExp):
            self._answer(node.body, depth)
            self._answer(node.orelse, depth)
        elif (table := self._looked_up(node)) is not None:
            self._entries(table)
            for default in node.args[1:] if isinstance(node, ast.Call) else ():
                self._answer(default, depth - 1)
        elif (value := _literal(node)) is not _OPEN:
            self.answers.add(repr(value))
        elif isinstance(node, ast.Name) and (node.id in self._local or node.id in self._constants):
            self._answer(self._local.get(node.id) or self._constants[node.id], depth - 1)
        elif not (isinstance(node, ast.Name) and node.id in self._parameters):
            self.only_answers = False

    def _looked_up(self, node: ast.expr) -> ast.Dict | None:
        """The table in `TABLE[x]` and `TABLE.get(x, 0)`."""
        owner: ast.expr | None = None
        if isinstance(node, ast.Subscript):
            owner = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            owner = node.func.value
        name = dotted(owner) if owner is not None else ""
        table = self._local.get(name) or self._constants.get(name) or owner
        return table if isinstance(table, ast.Dict) else None

    def _entries(self, table: ast.Dict) -> None:
        for key, value in zip(table.keys, table.values, strict=True):
            asked, answer = (_literal(each) if each is not None else _OPEN for each in (key, value))
            if asked is _OPEN or answer is _OPEN:
                self.only_answers = False
                return
            self.questions.add(repr(asked))
            self.answers.add(repr(answer))

    def _ask(self, function: FunctionNode) -> None:
        for node in ast.walk(function):
            if isinstance(node, ast.Compare):
                self.only_equal = self.only_equal and all(isinstance(op, ast.Eq | ast.In) for op in node.ops)
                self._literals(node)
            elif isinstance(node, ast.match_case):
                self._literals(node.pattern)
            elif isinstance(node, ast.BinOp | ast.For | ast.While):
                self.only_equal = False

    def _literals(self, node: ast.AST) -> None:
        for each in ast.walk(node):
            if isinstance(each, ast.expr) and (value := _literal(each)) is not _OPEN:
                self.questions.add(repr(value))


_OPEN = object()
_STATUSES = frozenset({"0", "1", "2", "None", "True", "False"})


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _OPEN


# --- are they a list of names, or a rule? -----------------------------------------------------------------------------


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def numbers_here_and_there(cases: list[Case]) -> bool:
    """Numbers to numbers, or to yes and no. Those that follow each other may be places, levels or months."""
    if len(cases) < ENOUGH or not all(is_number(each) for given, _ in cases for each in given):
        return False
    if not all(is_number(answer) or isinstance(answer, bool) for _, answer in cases):
        return False
    if len(cases[0][0]) > 1:
        return True
    inputs = sorted(given[0] for given, _ in cases)
    return inputs != [inputs[0] + step for step in range(len(inputs))]


def is_spelt_out(cases: list[Case]) -> bool:
    """`"Hello World"` to `"hello-world"`: every answer has the very letters of its input, and is another text."""
    return all(
        len(given) == 1
        and isinstance(given[0], str)
        and isinstance(answer, str)
        and _letters(given[0]) == _letters(answer)
        for given, answer in cases
    ) and any(len(_letters(answer)) >= SHORTEST and answer != given[0] for given, answer in cases)


def _letters(text: str) -> list[str]:
    return sorted(each for each in text.lower() if each.isalnum())


def has_rule(cases: list[Case]) -> bool:
    counts = {len(given) for given, _ in cases}
    if counts == {1} and all(is_number(each) for given, answer in cases for each in (given[0], answer)):
        return _is_line([(given[0], answer) for given, answer in cases])
    return len(counts) == 1 and any(_explains(rule, cases) for rule in _RULES)


def _is_line(points: list[tuple[float, float]]) -> bool:
    if len(points) < ENOUGH or len({x for x, _ in points}) < ENOUGH:
        return False
    inputs = sorted(x for x, _ in points)
    if inputs == [inputs[0] + step for step in range(len(inputs))]:
        return False
    (x, y), (u, v) = points[0], next(point for point in points if point[0] != points[0][0])
    rise = (v - y) / (u - x)
    return rise != 0 and all(math.isclose(y + rise * (a - x), b, abs_tol=1e-6) for a, b in points)


_RULES: tuple[Callable[..., Any], ...] = (
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


def _explains(rule: Callable[..., Any], cases: list[Case]) -> bool:
    try:
        return all(repr(rule(*given)) == repr(answer) for given, answer in cases)
    except (TypeError, ValueError, ArithmeticError, AttributeError, LookupError):
        return False
