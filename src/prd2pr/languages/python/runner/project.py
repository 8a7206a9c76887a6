"""Reads the parts of a project's pytest configuration that the runner needs: patterns, test paths and plugins."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

from prd2pr.languages.python.pytest_settings import (
    PYTEST_CONFIG_FILES,
    parse_ini,
    parse_toml,
    read_pytest_settings,
    split_option,
)
from prd2pr.languages.python.test_naming import DEFAULT_NAMING, TestNaming, read_test_naming

# pytest's own default
NORECURSE = ("*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}")

MAX_MARKERS = 8  # markers in an expression up to which all combinations are tried
_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_QUOTED = re.compile(r"""["']([A-Za-z0-9][A-Za-z0-9._-]*)[^"'\n]*["']""")


@dataclass(frozen=True)
class PytestProject:
    """A project's pytest configuration."""

    naming: TestNaming = DEFAULT_NAMING
    norecursedirs: tuple[str, ...] = NORECURSE
    testpaths: tuple[str, ...] = ()
    addopts: tuple[str, ...] = ()
    named: tuple[str, ...] = ()  # normalized names of distributions whose pytest plugins are enabled

    def is_ignored(self, path: str) -> bool:
        """Return whether pytest is configured not to collect this path."""
        directories = path.split("/")[:-1]
        return any(_is_skipped(part, self.norecursedirs) for part in directories) or any(
            path == place or path.startswith(f"{place}/") for place in self._ignore_options()
        )

    @property
    def markers(self) -> tuple[str, ...]:
        """The smallest set of markers that satisfies the project's own `-m` option, such as `-m "unit and not gpu"`."""
        apart = [value for option, value in pairwise(self.addopts) if option == "-m"]
        joined = [option.removeprefix("-m").removeprefix("=") for option in self.addopts if option.startswith("-m")]
        chosen = [value for value in [*joined, *apart] if value]
        return _find_satisfying_markers(chosen[-1]) if chosen else ()

    def _ignore_options(self) -> Iterator[str]:
        joined = [option.removeprefix("--ignore=") for option in self.addopts if option.startswith("--ignore=")]
        apart = [value for option, value in pairwise(self.addopts) if option == "--ignore"]
        return (place.removeprefix("./").rstrip("/") for place in [*joined, *apart])


def _find_satisfying_markers(expression: str) -> tuple[str, ...]:
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
    except SyntaxError:  # pytest reports the error
        return ()
    names = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)})[:MAX_MARKERS]
    for size in range(len(names) + 1):
        for chosen in combinations(names, size):
            if _matches_markers(tree, frozenset(chosen)):
                return chosen
    return ()


def _matches_markers(node: ast.expr, markers: frozenset[str]) -> bool:
    if isinstance(node, ast.BoolOp):
        matches = [_matches_markers(value, markers) for value in node.values]
        return all(matches) if isinstance(node.op, ast.And) else any(matches)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return not _matches_markers(node.operand, markers)
    return isinstance(node, ast.Name) and node.id in markers


def _is_skipped(directory: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(directory, pattern) for pattern in patterns)


def load_pytest_project(root: Path) -> PytestProject:
    settings = read_pytest_settings(
        {name: _read_text(root / name) for name in PYTEST_CONFIG_FILES if (root / name).is_file()}
    )
    named = _list_named_distributions(root, _split_lines(settings.get("required_plugins", "")))
    return replace(make_pytest_project(settings), named=named)


def make_pytest_project(settings: dict[str, Any]) -> PytestProject:
    """Read a project's configuration, except its named distributions."""
    return PytestProject(
        naming=read_test_naming(settings),
        norecursedirs=split_option(settings.get("norecursedirs", "")) or NORECURSE,
        testpaths=tuple(path.rstrip("/") for path in split_option(settings.get("testpaths", ""))),
        addopts=split_option(settings.get("addopts", "")),
    )


def _read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _split_lines(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else str(value or "").split()


# --- named distributions ----------------------------------------------------------------------------------------------


def _list_named_distributions(root: Path, required: list[str]) -> tuple[str, ...]:
    pyproject = parse_toml(_read_text(root / "pyproject.toml"))
    pipfile = parse_toml(_read_text(root / "Pipfile"))
    names = [
        *required,
        *_read_toml_requirements(pyproject),
        *pipfile.get("packages", {}),
        *pipfile.get("dev-packages", {}),
        *_read_requirement_files(root),
        *_read_ini_requirements(parse_ini(_read_text(root / "setup.cfg"))),
        *_read_ini_requirements(parse_ini(_read_text(root / "tox.ini"))),
        *(found for name in ("setup.py", "noxfile.py") for found in _QUOTED.findall(_read_text(root / name))),
    ]
    return tuple(sorted({_normalize_name(match[1]) for name in names if (match := _REQUIREMENT.match(name))}))


def _normalize_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _read_toml_requirements(value: Any, *, under: bool = False) -> Iterator[str]:
    """Yield strings and keys below any key about dependencies, because each packaging tool has its own layout."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if under:
                yield key
            yield from _read_toml_requirements(inner, under=under or "dependenc" in key or key == "requires")
    elif isinstance(value, list):
        for inner in value:
            yield from _read_toml_requirements(inner, under=under)
    elif under and isinstance(value, str):
        yield value


def _read_requirement_files(root: Path) -> Iterator[str]:
    places = [*root.glob("*requirements*.txt"), *root.glob("requirements*/*.txt"), *root.glob("*requirements*.in")]
    for path in sorted(places):
        yield from (line for line in _read_text(path).splitlines() if not line.lstrip().startswith(("-", "#")))


def _read_ini_requirements(sections: dict[str, dict[str, Any]]) -> Iterator[str]:
    for name, section in sections.items():
        for key, value in section.items():
            if key in {"install_requires", "tests_require", "deps"} or name == "options.extras_require":
                yield from str(value or "").splitlines()
