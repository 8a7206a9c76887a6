"""Gathering evidence terminates and does not crash, whatever is in the files.

All of gathering reads the texts, as tests and as source; only the runs are fake. Each group is read in a process of
its own with generous limits on CPU time and memory.
"""

from __future__ import annotations

import ast
import multiprocessing
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import hostile_texts
import pytest

from prd2pr.domain.evidence import Failure, FailureKind, RunReport, TestResult
from prd2pr.domain.records import Phase
from prd2pr.domain.results.differential import DifferentialResult
from prd2pr.domain.results.mutation import MutationResult
from prd2pr.languages.python.rules.test_code.test_file import find_declared_tests
from prd2pr.languages.python.test_model.module import parse_python
from prd2pr.languages.python.test_naming import DEFAULT_NAMING
from prd2pr.languages.test_runner import DifferentialRequest, MutationRequest, RunRequest
from prd2pr.state.git import Git
from prd2pr.verification.gather.context import GatherContext
from prd2pr.verification.gather.pipeline import gather
from repositories import Repository

pytestmark = pytest.mark.slow

CPU_SECONDS = 120
MEMORY = 4 << 30
TEST, SOURCE = "tests/test_hostile.py", "src/shop/hostile.py"
PROJECT = {
    "src/shop/__init__.py": "",
    "src/shop/points.py": "def earn(x):\n    return x\n",
    "tests/test_old.py": "from shop.points import earn\n\n\ndef test_old():\n    assert earn(1) == 1\n",
}
MORE = (
    "\n\ndef more(x):\n    if x:\n        return earn(x)\n    return 7\n\n\ndef test_more():\n    assert earn(3) == 9\n"
)
Failing = Callable[[str, str], Failure | None]  # path and text of a test file -> how its tests fail
Files = dict[str, str]

GROUPS = {
    "too deep": hostile_texts.deep(5000),
    "deep": hostile_texts.deep(120),
    "growing": hostile_texts.growing(),
    "circular": hostile_texts.circular(),
    "long": hostile_texts.long(),
    "wide": hostile_texts.wide(120),
    "unreadable": hostile_texts.unreadable(),
}


class FakeRuns:
    """All tests pass at base; at head every test fails in the same way."""

    def __init__(self, git: Git, base: str, failing: Failing) -> None:
        self._git, self._base, self._failing = git, base, failing

    def run(self, request: RunRequest) -> RunReport:
        entries = [entry for entry in self._git.entries(request.code_tree) if DEFAULT_NAMING.is_module(entry.path)]
        wanted = [entry for entry in entries if not request.paths or entry.path in request.paths]
        texts = self._git.read_blobs(entry.blob for entry in wanted)
        at_base = request.code_tree == self._base
        results = [
            result
            for entry in wanted
            for result in self._results(entry.path, texts[entry.blob].decode("utf-8", "replace"), passing=at_base)
        ]
        return RunReport(
            code_tree=request.code_tree,
            command=("pytest",),
            tools={},
            results=tuple(results),
            exit_status=1,
            canary_dirs=request.canary_dirs or (".",),
        )

    def _results(self, path: str, text: str, *, passing: bool) -> Iterator[TestResult]:
        """Results also for files that cannot be parsed here: pytest may have run them."""
        failure = None if passing else self._failing(path, text)
        for test in dict.fromkeys([*find_declared_tests(path, text)] or [f"{path}::test_it"]):
            yield TestResult(id=test, outcome="failed" if failure else "passed", failure=failure)

    def start_mutation_run(self, _: MutationRequest) -> Callable[[], MutationResult]:
        return MutationResult

    def start_differential_run(self, _: DifferentialRequest) -> Callable[[], DifferentialResult]:
        return DifferentialResult

    def expect(self, hash_seed: int = 0) -> None:
        """Nothing to prepare."""

    def begin(self, request: RunRequest, *, in_parallel: bool = False) -> None:
        """Nothing is started in advance."""

    def discard_early_runs(self) -> None:
        """Nothing was started."""


def import_error(path: str, _: str) -> Failure:
    return Failure(
        kind=FailureKind.MISSING_SYMBOL,
        stage="collect",
        exception="ModuleNotFoundError",
        missing="shop.points",
        path=path,
        line=3,
    )


def in_an_expression(path: str, text: str) -> Failure:
    """At the call of `int` or `open`, if there is one."""
    tree = parse_python(text)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"int", "open"}:
            span = (node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
            place = {"path": path, "line": node.lineno, "span": span}
            return Failure(kind=FailureKind.EXCEPTION, stage="call", exception="ValueError", **place)
    return Failure(kind=FailureKind.ASSERTION, stage="call", exception="AssertionError", path=path, line=8)


def nowhere(_path: str, _text: str) -> None:
    return None


def steps(text: str) -> Iterator[tuple[Phase, Files, Files, Failing]]:
    """Added as tests, changed under tests, added as source, changed as source."""
    tested = {**PROJECT, TEST: text}
    yield Phase.RED, PROJECT, tested, import_error
    yield Phase.RED, PROJECT, tested, in_an_expression
    around = {**tested, "tests/conftest.py": text}
    yield Phase.RED, around, {**around, TEST: text + MORE, "tests/conftest.py": text + MORE}, in_an_expression
    yield Phase.GREEN, tested, {**tested, SOURCE: text}, nowhere
    yield Phase.REFACTOR, {**tested, SOURCE: text}, {**tested, SOURCE: text + MORE}, nowhere


def read_all(texts: dict[str, str], place: Path) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with Repository(place) as repository:
        git = repository.git
        for name, text in texts.items():
            print(f"reading {name}", flush=True)  # printed if this process is killed
            for phase, before, after, failing in steps(text):
                base, head = (
                    git.edit_tree(git.empty_tree, {path: said.encode() for path, said in files.items()})
                    for files in (before, after)
                )
                seen = gather(GatherContext(git, FakeRuns(git, base, failing)), phase, base, head)
                assert seen.head_tree == head


@pytest.mark.parametrize("group", GROUPS)
def test_gathering_terminates_on_any_input(group: str, tmp_path: Path) -> None:
    reader = multiprocessing.get_context("fork").Process(target=read_all, args=(GROUPS[group], tmp_path / "r"))
    reader.start()
    reader.join()
    assert reader.exitcode == 0
