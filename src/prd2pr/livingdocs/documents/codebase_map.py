"""CODEBASE_MAP: the file tree, public names by file, complex functions, and tests."""

from __future__ import annotations

from typing import NamedTuple

from prd2pr.livingdocs.documents.file_tree import draw_file_tree
from prd2pr.livingdocs.history import LivingFacts
from prd2pr.livingdocs.readers.languages import PYTHON
from prd2pr.livingdocs.readers.source_file import SourceFile
from prd2pr.livingdocs.repository import Repository

MAX_FILES = 400
MAX_NAMES = 14
MAX_MEMBERS = 10
MAX_FUNCTIONS = 10
MAX_TESTS = 120
NOTABLE_COMPLEXITY = 5  # cyclomatic complexity from which a function is listed


class NameEntry(NamedTuple):
    name: str
    members: tuple[str, ...] = ()
    more: int = 0


class FileRow(NamedTuple):
    name: str
    about: str
    lines: int
    complexity: str
    names: tuple[NameEntry, ...]
    more: int = 0


class DirectoryView(NamedTuple):
    path: str
    rows: tuple[FileRow, ...]


class FunctionRow(NamedTuple):
    name: str
    path: str
    line: int
    complexity: int
    length: int


class SuiteRow(NamedTuple):
    path: str
    tests: int
    lines: int


class MapView(NamedTuple):
    languages: tuple[str, ...]
    outline: tuple[str, ...]
    directories: tuple[DirectoryView, ...]
    more_files: int
    functions: tuple[FunctionRow, ...]
    tests: tuple[SuiteRow, ...]
    more_tests: int
    unparsed: tuple[str, ...]
    unread: int
    foreign: int


def build_map_view(facts: LivingFacts) -> MapView:
    repository = facts.repository
    shown = list(repository.code)[:MAX_FILES]
    tests = [SuiteRow(path, file.tests, file.lines) for path, file in repository.tests.items() if file.tests]
    return MapView(
        languages=repository.languages,
        outline=draw_file_tree(repository.paths),
        directories=list_directories(repository, shown),
        more_files=len(repository.code) - len(shown),
        functions=list_complex_functions(repository),
        tests=tuple(tests[:MAX_TESTS]),
        more_tests=max(0, len(tests) - MAX_TESTS),
        unparsed=tuple(path for path, file in repository.code.items() if not file.parsed),
        unread=repository.unread,
        foreign=repository.foreign,
    )


def list_directories(repository: Repository, shown: list[str]) -> tuple[DirectoryView, ...]:
    found: dict[str, list[FileRow]] = {}
    for path in shown:
        parent, _, name = path.rpartition("/")
        found.setdefault(parent, []).append(build_file_row(name, repository.code[path]))
    return tuple(DirectoryView(parent, tuple(rows)) for parent, rows in sorted(found.items()))


def build_file_row(name: str, file: SourceFile) -> FileRow:
    names = list_public_names(file)
    return FileRow(
        name=name,
        about=file.about,
        lines=file.lines,
        complexity=format_complexity(file),
        names=names[:MAX_NAMES],
        more=max(0, len(names) - MAX_NAMES),
    )


def format_complexity(file: SourceFile) -> str:
    """Return the complexity of the most complex function; for unparsed languages an estimate for the file."""
    if file.language != PYTHON:
        return f"≈ {file.branches + 1}"
    return str(max(each.complexity for each in file.functions)) if file.functions else ""


def list_public_names(file: SourceFile) -> tuple[NameEntry, ...]:
    """Return classes with their methods, then functions, then values."""
    members: dict[str, list[str]] = {}
    for symbol in file.symbols:
        if symbol.owner:
            members.setdefault(symbol.owner, []).append(symbol.name)
    order = {"class": 0, "type": 0, "function": 1, "value": 2}
    tops = sorted((each for each in file.symbols if not each.owner), key=lambda each: (order[each.kind], each.line))
    found = []
    for symbol in tops:
        own = members.get(symbol.name, [])
        call = "()" if symbol.kind == "function" else ""
        rest = max(0, len(own) - MAX_MEMBERS)
        found.append(NameEntry(f"{symbol.name}{call}", tuple(own[:MAX_MEMBERS]), rest))
    return tuple(found)


def list_complex_functions(repository: Repository) -> tuple[FunctionRow, ...]:
    found = [
        FunctionRow(each.name, path, each.line, each.complexity, each.length)
        for path, file in repository.code.items()
        for each in file.functions
        if each.complexity >= NOTABLE_COMPLEXITY
    ]
    found.sort(key=lambda row: (-row.complexity, -row.length, row.path, row.line))
    return tuple(found[:MAX_FUNCTIONS])
