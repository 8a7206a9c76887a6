"""Canaries: test modules added to the project's own, with one test that must fail and one that must pass.

If a run reports other outcomes for them, it was manipulated. Nothing in the checkout may distinguish canaries from real
tests. Their names combine ordinary words with words from neighboring tests and follow the project's patterns, and the
number, imports and style of their tests vary. Neighboring files are rewritten together with them, so that neither
timestamps nor inode numbers reveal which file came last.
"""

from __future__ import annotations

import re
import secrets
import shutil
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from prd2pr.domain.test_runs import strip_test_parameters
from prd2pr.languages.python.runner.canary_text import ASPECTS, SUBJECTS, write_canary
from prd2pr.languages.python.runner.project import PytestProject

MAX_DIRECTORIES = 3
MAX_MODULES_READ = 5  # neighboring modules to take words from
MAX_FILES_REWRITTEN = 30

_TEST_NAME = re.compile(r"def test_(\w+)")

_SUBJECTS = SUBJECTS.split()
_ASPECTS = ASPECTS.split()


@dataclass(frozen=True)
class Canary:
    """One canary module and its tests."""

    path: str  # relative to the checkout
    directory: str
    passing: str  # node ids
    failing: str
    requested: bool  # requested by the caller; otherwise chosen because most tests are there
    others: tuple[str, ...] = ()  # more passing tests, so that the number of tests reveals nothing

    @property
    def ids(self) -> tuple[str, ...]:
        return self.passing, self.failing, *self.others

    def owns(self, test: str) -> bool:
        """Return whether a collected test belongs to this canary.

        A parametrized autouse fixture adds parameters to its id.
        """
        return strip_test_parameters(test) in self.ids


def choose_directories(
    project: PytestProject, files: Iterable[str], requested: Iterable[str]
) -> list[tuple[str, bool]]:
    """Return the requested directories, then those with the most test modules. `.` is the root."""
    wanted = list(dict.fromkeys(directory.rstrip("/") or "." for directory in requested))
    counts = Counter(_get_directory(path) for path in files if _is_collected(project, path))
    busiest = sorted(counts, key=lambda directory: (-counts[directory], directory))
    fill = [directory for directory in busiest if directory not in wanted][: max(0, MAX_DIRECTORIES - len(wanted))]
    chosen = [(directory, True) for directory in wanted] + [(directory, False) for directory in fill]
    return chosen or [(next(iter(project.testpaths), "."), False)]


def _get_directory(path: str) -> str:
    return path.rpartition("/")[0] or "."


def _is_collected(project: PytestProject, path: str) -> bool:
    inside = not project.testpaths or any(path.startswith(f"{root}/") or root == "." for root in project.testpaths)
    return inside and project.naming.is_module(path) and not project.is_ignored(path)


def place_canaries(checkout: Path, project: PytestProject, directories: Iterable[tuple[str, bool]]) -> list[Canary]:
    """Write one canary into each directory."""
    draw = secrets.SystemRandom()
    taken = {path.name for path in checkout.rglob("*.py")}
    canaries: list[Canary] = []
    for wanted, requested in directories:
        directory = wanted if (checkout / wanted).is_dir() else "."  # pytest uses the root when a test path is missing
        if not any(canary.directory == directory for canary in canaries):
            canaries.append(_place_canary(draw, checkout, directory, project, taken, requested=requested))
            taken.add(canaries[-1].path.rpartition("/")[2])
    return canaries


def _place_canary(
    draw: secrets.SystemRandom,
    checkout: Path,
    directory: str,
    project: PytestProject,
    taken: set[str],
    *,
    requested: bool,
) -> Canary:
    neighbours = [path for path in (checkout / directory).glob("*.py") if path.is_file() and not path.is_symlink()]
    tests = [path for path in neighbours if project.naming.is_module(path.name)]
    words = _collect_words(draw.sample(tests, min(len(tests), MAX_MODULES_READ)))
    words += [word for word in draw.sample(_SUBJECTS, min(len(_SUBJECTS), len(words) + 20)) if word not in words]
    name = _draw_file_name(draw, project, taken, words)
    path = name if directory == "." else f"{directory}/{name}"
    canary = write_canary(
        draw, _draw_function_names(draw, project, words, draw.choice([2, 2, 2, 3, 3, 4])), project.markers
    )
    _write_among(draw, checkout / path, canary.text, draw.sample(tests, min(len(tests), MAX_FILES_REWRITTEN)))
    passing, failing, *others = (f"{path}::{function}" for function in canary.functions)
    return Canary(path, directory, passing, failing, requested, tuple(others))


def _collect_words(modules: Iterable[Path]) -> list[str]:
    """Return words from the names of real tests."""
    found = [_TEST_NAME.findall(module.read_text(encoding="utf-8", errors="replace")) for module in modules]
    return sorted({word for names in found for name in names for word in name.split("_") if len(word) > 2})


def _write_among(draw: secrets.SystemRandom, target: Path, text: str, neighbours: list[Path]) -> None:
    """Write the canary and rewrite its neighbors in random order, so that all files get new inodes and timestamps."""
    files = [*neighbours, target]
    draw.shuffle(files)
    for file in files:
        temporary = file.with_name(f".{secrets.token_hex(8)}")
        if file == target:
            temporary.write_text(text, encoding="utf-8")
        else:
            temporary.write_bytes(file.read_bytes())
            shutil.copymode(file, temporary)
        temporary.replace(file)


def _draw_file_name(draw: secrets.SystemRandom, project: PytestProject, taken: set[str], subjects: list[str]) -> str:
    """Return a module name that is unique in the checkout. Outside packages, pytest imports modules by base name."""
    pattern = next((pattern for pattern in project.naming.files if "*" in pattern), "test_*.py").rpartition("/")[2]
    while True:
        aspect = draw.choice([[], [draw.choice(_ASPECTS)]])
        words = "_".join([*draw.sample(subjects, draw.choice([1, 1, 2])), *aspect])
        name = _fill_pattern(pattern, words)
        if name not in taken:
            return name


def _fill_pattern(pattern: str, words: str) -> str:
    head, _, tail = pattern.partition("*")
    return head + words + tail.replace("*", "").replace("?", "x")


def _draw_function_names(
    draw: secrets.SystemRandom, project: PytestProject, subjects: list[str], count: int
) -> list[str]:
    pattern = project.naming.functions[0]
    words = [f"{subject}_{draw.choice(_ASPECTS)}" for subject in draw.sample(subjects, count)]
    return [_fill_pattern(pattern if "*" in pattern else f"{pattern.rstrip('_')}_*", text) for text in words]
