"""The wording of each message is fixed in one place; all other tests assert codes, ids, states and values."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from shape import Shape, read_shape

ROOT = Path(__file__).parents[2]
RUN = 4  # words in a row by which a sentence is recognized
WORD = re.compile(r"[a-z][a-z'-]*")
PUNCTUATION = ".,:;!?()[]{}<>|`*_\"'’“”«»…^$\\"  # and anchors of `match=`
TEMPLATE_CODE = re.compile(r"\{[{%#].*?[}%#]\}", re.DOTALL)

Run = tuple[str, ...]


class Expectation(NamedTuple):
    """A text that a test expects: in an `assert`, in `match=` or in a table of parameters, which is one place."""

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {' '.join(self.text.split())!r}"


def test_each_sentence_is_asserted_in_one_place() -> None:
    product = collect_runs([*list_source_texts(read_shape()), *list_template_texts(ROOT / "templates")])
    assert len(product) > 10_000, "the product's texts were not found"
    expected = list(list_expectations(ROOT / "tests"))
    assert len(expected) > 5_000, "the assertions were not found"
    repeated = find_repeated_sentences(expected, product)
    assert not repeated, "write each sentence in one test only:\n" + "\n".join(repeated)


SENTENCE = "a test passes before any implementation"


@pytest.mark.parametrize(
    "planted",
    [
        f"assert '{SENTENCE}' in text",
        f"assert text == f'{{code}}: {SENTENCE.capitalize()}.'",
        "assert text == 'a test passes ' 'before `x-1` any implementation'",
        f"assert all(each.startswith('{SENTENCE}') for each in texts)",
        f"def test_it():\n    with pytest.raises(ValueError, match=r'^{SENTENCE}'):\n        f()",
        f"@pytest.mark.parametrize('b', [pytest.param('{SENTENCE}')])\ndef test_it(b):\n    assert f() == b",
        f"@pytest.mark.parametrize(('a', 'b'), [(1, '{SENTENCE}')])\ndef test_it(a, b):\n    assert b in f(a)",
    ],
)
def test_second_assertion_of_a_sentence_is_found(planted: str, tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(f"assert text == '{SENTENCE}'\n")
    assert find_planted(tmp_path) == []
    (tmp_path / "test_b.py").write_text(planted)
    first, *lines = find_planted(tmp_path)
    assert first == "«a test passes before»"
    assert [line.split(":")[0] for line in lines] == ["  test_a.py", "  test_b.py"]
    assert all("any implementation" in line for line in lines)


@pytest.mark.parametrize(
    "harmless",
    [
        f"text = '{SENTENCE}'\nassert text in f()",
        f"def test_it():\n    '''{SENTENCE}'''\n    give('{SENTENCE}')",
        "assert 'a test passes' in text",
        f"assert text == 1, '{SENTENCE}'",
        f"@pytest.mark.parametrize(('a', 'b'), [('{SENTENCE}', 1)])\ndef test_it(a, b):\n    assert f(a) == b",
    ],
)
def test_data_and_short_phrases_are_no_assertions_of_a_sentence(harmless: str, tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(f"assert text == '{SENTENCE}'\n")
    (tmp_path / "test_b.py").write_text(harmless)
    assert find_planted(tmp_path) == []


def find_planted(tests: Path) -> list[str]:
    return find_repeated_sentences(list_expectations(tests), collect_runs([SENTENCE]))


# --- the words of the product -----------------------------------------------------------------------------------------


def list_source_texts(shape: Shape) -> Iterator[str]:
    """Yield the strings of the source, without docstrings; values in an f-string are left out."""
    for module in shape.modules:
        docstrings: set[ast.expr] = set()
        for node in module.nodes:  # a statement comes before its parts
            if isinstance(node, ast.Expr):
                docstrings.add(node.value)
            elif isinstance(node, (ast.Constant, ast.JoinedStr)) and node not in docstrings:
                yield read_text(node)


def list_template_texts(templates: Path) -> Iterator[str]:
    for path in templates.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield TEMPLATE_CODE.sub(" ", path.read_text(encoding="utf-8"))


def read_text(node: ast.expr) -> str:
    """Return the text of a string or f-string; empty for everything else."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return " ".join(part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str))


def list_runs(text: str) -> list[Run]:
    """List the runs of words. Names, numbers and paths are left out: they differ from test to test."""
    if text.count(" ") < RUN - 1:
        return []
    stripped = (token.strip(PUNCTUATION) for token in text.lower().split())
    words = [word for word in stripped if WORD.fullmatch(word)]
    return [tuple(words[start : start + RUN]) for start in range(len(words) - RUN + 1)]


def collect_runs(texts: Iterable[str]) -> frozenset[Run]:
    return frozenset(run for text in texts for run in list_runs(text))


# --- the expectations of the tests ------------------------------------------------------------------------------------


def list_expectations(tests: Path) -> Iterator[Expectation]:
    for path in sorted(tests.rglob("*.py")):
        name = path.relative_to(tests.parent if tests.name == "tests" else tests).as_posix()
        for node in walk_statements(ast.parse(path.read_text(encoding="utf-8"))):
            for place, expression in list_expected_expressions(node):
                for each in ast.walk(expression):
                    if (
                        isinstance(each, (ast.Constant, ast.JoinedStr))
                        and (text := read_text(each))
                        and not is_sql(text)
                    ):
                        yield Expectation(name, place.lineno, text)


def is_sql(text: str) -> bool:
    return text.startswith("SELECT ")


def walk_statements(tree: ast.Module) -> Iterator[ast.stmt]:
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            pending += getattr(node, name, ())
        if isinstance(node, ast.stmt):
            yield node


def list_expected_expressions(node: ast.stmt) -> Iterator[tuple[ast.stmt | ast.expr, ast.expr]]:
    """Yield what a statement expects, each with the node that stands for its place."""
    if isinstance(node, ast.Assert):
        yield node, node.test
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        yield from ((node, value) for item in node.items for value in list_match_values(item.context_expr))
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.decorator_list:
        compared = set(list_compared_names(node))
        for decorator in node.decorator_list:
            yield from ((decorator, cell) for name, cell in list_table_cells(decorator) if name in compared)


def list_match_values(expression: ast.expr) -> Iterator[ast.expr]:
    """Yield the patterns of `pytest.raises(…, match=…)`."""
    if isinstance(expression, ast.Call):
        yield from (keyword.value for keyword in expression.keywords if keyword.arg == "match")


def list_compared_names(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """Yield the names that the function compares a result with."""
    for node in ast.walk(function):
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            yield from (each.id for each in operands if isinstance(each, ast.Name))
        elif isinstance(node, ast.Call):
            yield from (each.id for each in list_match_values(node) if isinstance(each, ast.Name))


def list_table_cells(decorator: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield the cells of `@pytest.mark.parametrize`, each with the name of its parameter."""
    if not isinstance(decorator, ast.Call) or not ast.unparse(decorator.func).endswith("parametrize"):
        return
    header, rows = decorator.args[:2]
    names = [read_text(name) for name in header.elts] if isinstance(header, ast.Tuple) else [read_text(header)]
    for row in rows.elts if isinstance(rows, (ast.List, ast.Tuple)) else ():
        cells = row.args if isinstance(row, ast.Call) else row.elts if isinstance(row, ast.Tuple) else [row]
        yield from zip(names, cells, strict=False)


# --- sentences in two places ------------------------------------------------------------------------------------------


def find_repeated_sentences(expected: Iterable[Expectation], product: frozenset[Run]) -> list[str]:
    """Return a line for each group of words that the product says and several places expect, and one for each place."""
    by_run: dict[Run, dict[tuple[str, int], Expectation]] = defaultdict(dict)
    for each in expected:
        for run in list_runs(each.text):
            if run in product:
                by_run[run].setdefault((each.path, each.line), each)
    groups: dict[tuple[Expectation, ...], Run] = {}
    for run, places in by_run.items():
        if len(places) > 1:
            groups.setdefault(tuple(places.values()), run)
    return [
        line for places, run in groups.items() for line in (f"«{' '.join(run)}»", *(f"  {each}" for each in places))
    ]
