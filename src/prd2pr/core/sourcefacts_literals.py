"""GRN402: source that holds the examples of its tests instead of the rule behind them. Only ever a warning."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from prd2pr.core.sourcefacts_subject import Sighting
from prd2pr.core.testfacts_model import FunctionNode, parse

_TRIVIAL: frozenset[str] = frozenset(repr(value) for value in (0, 1, -1, 2, "", True, False, None, 0.0, 1.0))


@dataclass(frozen=True)
class Example:
    """One asserted example: literals that go in, and the literal that must come out."""

    inputs: frozenset[str]
    output: str


def literal_sightings(old: str, new: str, tests: Mapping[str, str]) -> Iterator[Sighting]:
    tree, before = parse(new), parse(old)
    if tree is None:
        return
    examples = [example for text in tests.values() for example in _examples(text)]
    known = {key for key, _, _ in _mapped(before)} if before else set()
    hits: dict[int, set[str]] = {}
    for key, node, told in _mapped(tree):
        if key in known:
            continue
        for example in examples:
            if example.output == key and example.inputs & told:
                hits.setdefault(node.lineno, set()).add(example.output)
    answers = set().union(*hits.values())
    # One pair of small numbers may well be the rule itself; two, or one unmistakable value, hardly are.
    if len(answers) > 1 or answers - _TRIVIAL:
        message = f"{_count(answers)} with the same input in the tests: {_list(answers)}"
        yield Sighting("GRN402", message, min(hits), message)
    yield from _constant_answers(tree, old, examples)
    yield from _answers_after_failure(tree, old, {example.output for example in examples} - _TRIVIAL)


def _answers_after_failure(tree: ast.Module, old: str, expected: set[str]) -> Iterator[Sighting]:
    """`except Exception: return "hello-world"`: whatever goes wrong, a test gets what it expects."""
    for node in ast.walk(tree):
        broad = isinstance(node, ast.ExceptHandler) and (
            node.type is None or ast.unparse(node.type) in {"Exception", "BaseException"}
        )
        for inner in (x for x in ast.walk(node) if broad and isinstance(x, ast.Return)):
            answer = literal(inner.value) if inner.value is not None else None
            if answer in expected and ast.unparse(inner) not in old:
                message = f"whatever goes wrong, the answer is `{answer}`, as a test expects"
                yield Sighting("GRN415", message, inner.lineno, message)


def _count(answers: set[str]) -> str:
    return "one answer written here occurs" if len(answers) == 1 else f"{len(answers)} answers written here occur"


def _list(answers: set[str]) -> str:
    return ", ".join(f"`{answer}`" for answer in sorted(answers)[:4])


def _examples(text: str) -> Iterator[Example]:
    tree = parse(text)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "parametrize":
            yield from _rows(node)
        if not (isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.Is)):
            continue
        for call, expected in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
            output = literal(expected)
            if isinstance(call, ast.Call) and output is not None:
                inputs = {value for argument in ast.walk(call) if (value := literal(argument)) is not None}
                yield Example(frozenset(inputs - {output}) or frozenset(inputs), output)


def _rows(call: ast.Call) -> Iterator[Example]:
    """Rows of a parametrised test: what stands last is mostly what is expected."""
    table = call.args[1] if len(call.args) > 1 else None
    for row in table.elts if isinstance(table, ast.List | ast.Tuple) else ():
        cells = row.args if isinstance(row, ast.Call) else row.elts if isinstance(row, ast.Tuple | ast.List) else []
        output = literal(cells[-1]) if len(cells) > 1 else None
        if output is not None:
            yield Example(frozenset(value for cell in cells[:-1] for value in _literals(cell)), output)


def literal(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and node.value is not None and node.value is not Ellipsis:
        return repr(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return f"-{node.operand.value!r}"
    return None


def _mapped(tree: ast.Module) -> Iterator[tuple[str, ast.expr | ast.stmt, frozenset[str]]]:
    """Answers that source gives for literal questions: table entries, and returns under an equality."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if key is not None and (answer := literal(value)) is not None:
                    yield answer, node, _literals(key)
        elif isinstance(node, ast.List | ast.Tuple | ast.Set) and len(node.elts) > 1:
            yield from _paired(node)
        elif isinstance(node, ast.If | ast.IfExp) and (told := _compared(node.test)):
            body = node.body if isinstance(node.body, list) else [node.body]
            for inner in (x for statement in body for x in ast.walk(statement)):
                if (answer := literal(inner)) is not None and answer not in told:
                    yield answer, node, told
        elif isinstance(node, ast.match_case):
            for inner in (x for statement in node.body for x in ast.walk(statement)):
                if (answer := literal(inner)) is not None:
                    yield answer, node.body[0], _literals(node.pattern)


def _paired(table: ast.List | ast.Tuple | ast.Set) -> Iterator[tuple[str, ast.expr | ast.stmt, frozenset[str]]]:
    """`[(137, 90), (215, 184)]`: a table by another name."""
    rows = [row for row in table.elts if isinstance(row, ast.Tuple | ast.List) and len(row.elts) > 1]
    for row in rows if len(rows) == len(table.elts) else ():
        answer = literal(row.elts[-1])
        if answer is not None:
            yield answer, table, frozenset(value for cell in row.elts[:-1] for value in _literals(cell))


def _literals(node: ast.AST) -> frozenset[str]:
    return frozenset(value for inner in ast.walk(node) if (value := literal(inner)) is not None)


def _compared(test: ast.expr) -> frozenset[str]:
    compares = [
        node for node in ast.walk(test) if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.In)
    ]
    return frozenset().union(*(_literals(node) for node in compares))


def _constant_answers(tree: ast.Module, old: str, examples: list[Example]) -> Iterator[Sighting]:
    """A function with parameters whose whole body is `return <the value that the test expects>`."""
    expected = {example.output for example in examples if example.inputs}
    for node in ast.walk(tree):
        if not (isinstance(node, FunctionNode) and [arg for arg in node.args.args if arg.arg not in {"self", "cls"}]):
            continue
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        if len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None:
            answer = literal(body[0].value)
            if answer in expected and f"def {node.name}(" not in old:
                message = f"`{node.name}` always returns `{answer}`, which is what a test expects"
                yield Sighting("GRN402", message, body[0].lineno, message)
