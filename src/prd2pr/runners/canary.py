"""Canaries: test modules put among the project's own, one test of each must fail and one must pass.

A run that reports them otherwise was tampered with, whatever else it says. Nothing in the checkout may tell them from
real tests: names are drawn from ordinary words and from those of the tests beside them, and follow the project's own
patterns; how many tests there are, what they import and how they are written differs; and the files beside them are
made anew together with them, so that neither times nor numbers of files show which came last.
"""

from __future__ import annotations

import re
import secrets
import shutil
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from prd2pr.runners.canary_text import canary_text
from prd2pr.runners.canary_words import ASPECTS, SUBJECTS
from prd2pr.runners.project import PytestProject

MOST_DIRECTORIES = 3
MOST_READ = 5  # modules beside it, for their words
MOST_MADE_ANEW = 30

_TEST_NAME = re.compile(r"def test_(\w+)")

_SUBJECTS = SUBJECTS.split()
_ASPECTS = ASPECTS.split()


@dataclass(frozen=True)
class Canary:
    path: str  # relative to the checkout
    directory: str
    passing: str  # node ids
    failing: str
    requested: bool  # asked for by the caller; the others are where most tests are
    others: tuple[str, ...] = ()  # that pass as well, so that numbers tell nothing

    @property
    def ids(self) -> tuple[str, ...]:
        return self.passing, self.failing, *self.others


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
    return inside and project.naming.is_module(path) and not project.ignored(path)


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
    beside = [path for path in (checkout / directory).glob("*.py") if path.is_file() and not path.is_symlink()]
    tests = [path for path in beside if project.naming.is_module(path.name)]
    words = _words_of(draw.sample(tests, min(len(tests), MOST_READ)))
    words += [word for word in draw.sample(_SUBJECTS, min(len(_SUBJECTS), len(words) + 20)) if word not in words]
    name = _file_name(draw, project, taken, words)
    path = name if directory == "." else f"{directory}/{name}"
    written = canary_text(draw, _function_names(draw, project, words, draw.choice([2, 2, 2, 3, 3, 4])), project.markers)
    _put_among(draw, checkout / path, written.text, draw.sample(tests, min(len(tests), MOST_MADE_ANEW)))
    passing, failing, *others = (f"{path}::{function}" for function in written.functions)
    return Canary(path, directory, passing, failing, requested, tuple(others))


def _words_of(modules: Iterable[Path]) -> list[str]:
    """Those of which the names of real tests are made."""
    found = [_TEST_NAME.findall(module.read_text(encoding="utf-8", errors="replace")) for module in modules]
    return sorted({word for names in found for name in names for word in name.split("_") if len(word) > 2})


def _put_among(draw: secrets.SystemRandom, place: Path, text: str, beside: list[Path]) -> None:
    """All get new numbers and new times, in an order that nobody knows."""
    files = [*beside, place]
    draw.shuffle(files)
    for file in files:
        made = file.with_name(f".{secrets.token_hex(8)}")
        if file == place:
            made.write_text(text, encoding="utf-8")
        else:
            made.write_bytes(file.read_bytes())
            shutil.copymode(file, made)
        made.replace(file)


def _file_name(draw: secrets.SystemRandom, project: PytestProject, taken: set[str], subjects: list[str]) -> str:
    """Module names must be unique over the whole checkout: without packages, pytest imports by base name."""
    pattern = next((pattern for pattern in project.naming.files if "*" in pattern), "test_*.py").rpartition("/")[2]
    while True:
        aspect = draw.choice([[], [draw.choice(_ASPECTS)]])
        words = "_".join([*draw.sample(subjects, draw.choice([1, 1, 2])), *aspect])
        name = _fill(pattern, words)
        if name not in taken:
            return name


def _fill(pattern: str, words: str) -> str:
    head, _, tail = pattern.partition("*")
    return head + words + tail.replace("*", "").replace("?", "x")


def _function_names(draw: secrets.SystemRandom, project: PytestProject, subjects: list[str], count: int) -> list[str]:
    pattern = project.naming.functions[0]
    words = [f"{subject}_{draw.choice(_ASPECTS)}" for subject in draw.sample(subjects, count)]
    return [_fill(pattern if "*" in pattern else f"{pattern.rstrip('_')}_*", text) for text in words]
