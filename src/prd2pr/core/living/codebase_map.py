"""CODEBASE_MAP: where things are, and what each file offers."""

from __future__ import annotations

from typing import NamedTuple

from prd2pr.core.living.languages import PYTHON
from prd2pr.core.living.outline import outline
from prd2pr.core.living.repository import Repository
from prd2pr.core.living.source_file import SourceFile
from prd2pr.core.living.worked import LivingFacts

MOST_FILES = 400
MOST_NAMES = 14
MOST_MEMBERS = 10
MOST_FUNCTIONS = 10
MOST_TESTS = 120
NOTABLE = 5  # a function with this many ways through it is worth a line


class Name(NamedTuple):
    name: str
    members: tuple[str, ...] = ()
    more: int = 0


class FileRow(NamedTuple):
    name: str
    about: str
    lines: int
    complexity: str
    names: tuple[Name, ...]
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


def codebase_map(facts: LivingFacts) -> MapView:
    repository = facts.repository
    shown = list(repository.code)[:MOST_FILES]
    tests = [SuiteRow(path, file.tests, file.lines) for path, file in repository.tests.items() if file.tests]
    return MapView(
        languages=repository.languages,
        outline=outline(repository.paths),
        directories=directories(repository, shown),
        more_files=len(repository.code) - len(shown),
        functions=notable_functions(repository),
        tests=tuple(tests[:MOST_TESTS]),
        more_tests=max(0, len(tests) - MOST_TESTS),
        unparsed=tuple(path for path, file in repository.code.items() if not file.parsed),
        unread=repository.unread,
        foreign=repository.foreign,
    )


def directories(repository: Repository, shown: list[str]) -> tuple[DirectoryView, ...]:
    found: dict[str, list[FileRow]] = {}
    for path in shown:
        parent, _, name = path.rpartition("/")
        found.setdefault(parent, []).append(file_row(name, repository.code[path]))
    return tuple(DirectoryView(parent, tuple(rows)) for parent, rows in sorted(found.items()))


def file_row(name: str, file: SourceFile) -> FileRow:
    names = names_of(file)
    return FileRow(
        name=name,
        about=file.about,
        lines=file.lines,
        complexity=complexity_of(file),
        names=names[:MOST_NAMES],
        more=max(0, len(names) - MOST_NAMES),
    )


def complexity_of(file: SourceFile) -> str:
    """Of the most tangled function; of a file that is not parsed, roughly and as a whole."""
    if file.language != PYTHON:
        return f"≈ {file.branches + 1}"
    return str(max(each.complexity for each in file.functions)) if file.functions else ""


def names_of(file: SourceFile) -> tuple[Name, ...]:
    """Classes with their methods, functions, then values: what people look for first comes first."""
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
        rest = max(0, len(own) - MOST_MEMBERS)
        found.append(Name(f"{symbol.name}{call}", tuple(own[:MOST_MEMBERS]), rest))
    return tuple(found)


def notable_functions(repository: Repository) -> tuple[FunctionRow, ...]:
    found = [
        FunctionRow(each.name, path, each.line, each.complexity, each.length)
        for path, file in repository.code.items()
        for each in file.functions
        if each.complexity >= NOTABLE
    ]
    found.sort(key=lambda row: (-row.complexity, -row.length, row.path, row.line))
    return tuple(found[:MOST_FUNCTIONS])
