"""Canaries: test modules put among the project's own, one test of each must fail and one must pass.

A run that reports them otherwise was tampered with, whatever else it says. Their names are drawn from ordinary words
and follow the project's own patterns, so that nothing in the checkout can tell them from real tests.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from prd2pr.runners.canary_words import ASPECTS, SUBJECTS
from prd2pr.runners.project import PytestProject

MOST_DIRECTORIES = 3

_SUBJECTS = SUBJECTS.split()
_ASPECTS = ASPECTS.split()


@dataclass(frozen=True)
class Canary:
    path: str  # relative to the checkout
    directory: str
    passing: str  # node ids
    failing: str
    requested: bool  # asked for by the caller; the others are where most tests are

    @property
    def ids(self) -> tuple[str, str]:
        return self.passing, self.failing


def choose_directories(
    project: PytestProject, files: Iterable[str], requested: Iterable[str]
) -> list[tuple[str, bool]]:
    """The requested ones, then those that hold most test modules. `.` is the root."""
    wanted = list(dict.fromkeys(directory.rstrip("/") or "." for directory in requested))
    counts = Counter(_directory(path) for path in files if _is_walked(project, path))
    busiest = sorted(counts, key=lambda directory: (-counts[directory], directory))
    fill = [directory for directory in busiest if directory not in wanted][: max(0, MOST_DIRECTORIES - len(wanted))]
    chosen = [(directory, True) for directory in wanted] + [(directory, False) for directory in fill]
    return chosen or [(next(iter(project.testpaths), "."), False)]


def _directory(path: str) -> str:
    return path.rpartition("/")[0] or "."


def _is_walked(project: PytestProject, path: str) -> bool:
    inside = not project.testpaths or any(path.startswith(f"{root}/") or root == "." for root in project.testpaths)
    return inside and project.is_test_module(path) and not project.ignored(path)


def place_canaries(checkout: Path, project: PytestProject, directories: Iterable[tuple[str, bool]]) -> list[Canary]:
    draw = secrets.SystemRandom()
    taken = {path.name for path in checkout.rglob("*.py")}
    canaries: list[Canary] = []
    for wanted, requested in directories:
        directory = wanted if (checkout / wanted).is_dir() else "."  # where pytest looks when a test path is missing
        if not any(canary.directory == directory for canary in canaries):
            canaries.append(_place(draw, checkout, directory, project, taken, requested=requested))
            taken.add(canaries[-1].path.rpartition("/")[2])
    return canaries


def _place(
    draw: secrets.SystemRandom,
    checkout: Path,
    directory: str,
    project: PytestProject,
    taken: set[str],
    *,
    requested: bool,
) -> Canary:
    name = _file_name(draw, project, taken)
    path = name if directory == "." else f"{directory}/{name}"
    first, second = _function_names(draw, project)
    passing_first = draw.random() < 0.5
    passing, failing = (first, second) if passing_first else (second, first)
    marked = f"import pytest\n\npytestmark = pytest.mark.{project.marker}\n\n\n" if project.marker else ""
    text = marked + _module(draw, passing, failing, passing_first=passing_first)
    (checkout / path).write_text(text, encoding="utf-8")
    return Canary(path, directory, f"{path}::{passing}", f"{path}::{failing}", requested)


def _file_name(draw: secrets.SystemRandom, project: PytestProject, taken: set[str]) -> str:
    """Module names must be unique over the whole checkout: without packages, pytest imports by base name."""
    pattern = next((pattern for pattern in project.python_files if "*" in pattern), "test_*.py").rpartition("/")[2]
    while True:
        words = "_".join([*draw.sample(_SUBJECTS, draw.choice([1, 1, 2])), draw.choice(_ASPECTS)])
        name = _fill(pattern, words)
        if name not in taken:
            return name


def _fill(pattern: str, words: str) -> str:
    head, _, tail = pattern.partition("*")
    return head + words + tail.replace("*", "").replace("?", "x")


def _function_names(draw: secrets.SystemRandom, project: PytestProject) -> tuple[str, str]:
    pattern = project.python_functions[0]
    subjects = draw.sample(_SUBJECTS, 2)
    words = [f"{subject}_{draw.choice(_ASPECTS)}" for subject in subjects]
    first, second = (_fill(pattern if "*" in pattern else f"{pattern.rstrip('_')}_*", text) for text in words)
    return first, second


def _module(draw: secrets.SystemRandom, passing: str, failing: str, *, passing_first: bool) -> str:
    values = [draw.randint(2, 900) for _ in range(draw.randint(3, 6))]
    expressions = [
        (f"sum({values})", sum(values)),
        (f"max({values}) - min({values})", max(values) - min(values)),
        (f"sorted({values})[1]", sorted(values)[1]),
        (f"len({values}) * {values[0]}", len(values) * values[0]),
        (f"{values}[-1] % {values[0]}", values[-1] % values[0]),
    ]
    (good, right), (bad, true) = draw.sample(expressions, 2)
    wrong = true + draw.randint(1, 9)
    functions = [_function(draw, passing, good, right), _function(draw, failing, bad, wrong)]
    return "\n\n".join(functions if passing_first else functions[::-1])


def _function(draw: secrets.SystemRandom, name: str, expression: str, expected: int) -> str:
    local = draw.choice(["result", "value", "found", "actual", "total"])
    if draw.random() < 0.5:
        return f"def {name}():\n    {local} = {expression}\n    assert {local} == {expected}\n"
    return f"def {name}():\n    assert {expression} == {expected}\n"
