"""How a project runs its own tests, as far as the runner must know: patterns, test paths, plugins that it names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

from prd2pr.core.pytest_settings import CONFIGURED_IN, ini_sections, pytest_settings, toml_tables, words
from prd2pr.core.test_naming import USUAL, TestNaming, naming_of

# pytest's own default
NORECURSE = ("*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}")

MOST_MARKERS = 8  # of an expression that are tried in all combinations
_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_QUOTED = re.compile(r"""["']([A-Za-z0-9][A-Za-z0-9._-]*)[^"'\n]*["']""")


@dataclass(frozen=True)
class PytestProject:
    naming: TestNaming = USUAL
    norecursedirs: tuple[str, ...] = NORECURSE
    testpaths: tuple[str, ...] = ()
    addopts: tuple[str, ...] = ()
    named: tuple[str, ...] = ()  # distributions, normalised: a pytest plugin among them is switched on

    def ignored(self, path: str) -> bool:
        """Whether pytest, as configured, does not walk into this place."""
        directories = path.split("/")[:-1]
        return any(_skipped(part, self.norecursedirs) for part in directories) or any(
            path == place or path.startswith(f"{place}/") for place in self._ignore_options()
        )

    @property
    def markers(self) -> tuple[str, ...]:
        """What a test must be marked with to be chosen by the project's own `-m "unit and not gpu"`: no more."""
        apart = [value for option, value in pairwise(self.addopts) if option == "-m"]
        joined = [option.removeprefix("-m").removeprefix("=") for option in self.addopts if option.startswith("-m")]
        chosen = [value for value in [*joined, *apart] if value]
        return _satisfying(chosen[-1]) if chosen else ()

    def _ignore_options(self) -> Iterator[str]:
        joined = [option.removeprefix("--ignore=") for option in self.addopts if option.startswith("--ignore=")]
        apart = [value for option, value in pairwise(self.addopts) if option == "--ignore"]
        return (place.removeprefix("./").rstrip("/") for place in [*joined, *apart])


def _satisfying(expression: str) -> tuple[str, ...]:
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
    except SyntaxError:  # pytest will complain
        return ()
    names = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)})[:MOST_MARKERS]
    for size in range(len(names) + 1):
        for chosen in combinations(names, size):
            if _holds(tree, frozenset(chosen)):
                return chosen
    return ()


def _holds(node: ast.expr, markers: frozenset[str]) -> bool:
    if isinstance(node, ast.BoolOp):
        held = [_holds(value, markers) for value in node.values]
        return all(held) if isinstance(node.op, ast.And) else any(held)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return not _holds(node.operand, markers)
    return isinstance(node, ast.Name) and node.id in markers


def _skipped(directory: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(directory, pattern) for pattern in patterns)


def read_project(root: Path) -> PytestProject:
    settings = pytest_settings({name: _text(root / name) for name in CONFIGURED_IN if (root / name).is_file()})
    named = _named_distributions(root, _lines(settings.get("required_plugins", "")))
    return replace(project_of(settings), named=named)


def project_of(settings: dict[str, Any]) -> PytestProject:
    """All but what it names."""
    return PytestProject(
        naming=naming_of(settings),
        norecursedirs=words(settings.get("norecursedirs", "")) or NORECURSE,
        testpaths=tuple(path.rstrip("/") for path in words(settings.get("testpaths", ""))),
        addopts=words(settings.get("addopts", "")),
    )


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _lines(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else str(value or "").split()


# --- what the project names -------------------------------------------------------------------------------------------


def _named_distributions(root: Path, required: list[str]) -> tuple[str, ...]:
    pyproject = toml_tables(_text(root / "pyproject.toml"))
    pipfile = toml_tables(_text(root / "Pipfile"))
    names = [
        *required,
        *_toml_requirements(pyproject),
        *pipfile.get("packages", {}),
        *pipfile.get("dev-packages", {}),
        *_requirement_files(root),
        *_ini_requirements(ini_sections(_text(root / "setup.cfg"))),
        *_ini_requirements(ini_sections(_text(root / "tox.ini"))),
        *(found for name in ("setup.py", "noxfile.py") for found in _QUOTED.findall(_text(root / name))),
    ]
    return tuple(sorted({_normal(match[1]) for name in names if (match := _REQUIREMENT.match(name))}))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _toml_requirements(value: Any, *, under: bool = False) -> Iterator[str]:
    """Strings and keys below any key that speaks of dependencies: every packaging tool has its own spelling."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if under:
                yield key
            yield from _toml_requirements(inner, under=under or "dependenc" in key or key == "requires")
    elif isinstance(value, list):
        for inner in value:
            yield from _toml_requirements(inner, under=under)
    elif under and isinstance(value, str):
        yield value


def _requirement_files(root: Path) -> Iterator[str]:
    places = [*root.glob("*requirements*.txt"), *root.glob("requirements*/*.txt"), *root.glob("*requirements*.in")]
    for path in sorted(places):
        yield from (line for line in _text(path).splitlines() if not line.lstrip().startswith(("-", "#")))


def _ini_requirements(sections: dict[str, dict[str, Any]]) -> Iterator[str]:
    for name, section in sections.items():
        for key, value in section.items():
            if key in {"install_requires", "tests_require", "deps"} or name == "options.extras_require":
                yield from str(value or "").splitlines()
