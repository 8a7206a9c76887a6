"""CODEBASE_MAP: the file tree, public names by file, complex functions, and tests."""

from __future__ import annotations

from prd2pr.livingdocs.documents.file_tree import draw_file_tree
from prd2pr.livingdocs.history import LivingFacts
from prd2pr.livingdocs.readers.languages import PYTHON
from prd2pr.livingdocs.readers.source_file import SourceFile, SourceFunction
from prd2pr.livingdocs.repository import Repository

MAX_FILES = 400
MAX_FUNCTIONS = 10
NOTABLE_COMPLEXITY = 5  # functions with at least this cyclomatic complexity are listed


def build_map_view(facts: LivingFacts) -> dict[str, object]:
    repository = facts.repository
    return {
        "repository": repository,
        "outline": draw_file_tree(repository.paths),
        "directories": list_directories(repository, list(repository.code)[:MAX_FILES]),
        "more_files": len(repository.code) - MAX_FILES,
        "functions": list_complex_functions(repository),
        "tests": [(path, file) for path, file in repository.tests.items() if file.tests],
        "unparsed": [path for path, file in repository.code.items() if not file.parsed],
    }


FileRow = tuple[str, SourceFile, list[tuple[str, list[str]]], str]  # name, facts, public names, complexity


def list_directories(repository: Repository, shown: list[str]) -> list[tuple[str, list[FileRow]]]:
    found: dict[str, list[FileRow]] = {}
    for path in shown:
        parent, _, name = path.rpartition("/")
        file = repository.code[path]
        found.setdefault(parent, []).append((name, file, list_public_names(file), format_complexity(file)))
    return sorted(found.items())


def format_complexity(file: SourceFile) -> str:
    """Return the complexity of the most complex function, or an estimate for the file in languages without a parser."""
    if file.language != PYTHON:
        return f"≈ {file.branches + 1}"
    return str(max(each.complexity for each in file.functions)) if file.functions else ""


def list_public_names(file: SourceFile) -> list[tuple[str, list[str]]]:
    """Return classes with their methods, then functions, then values."""
    members: dict[str, list[str]] = {}
    for symbol in file.symbols:
        if symbol.owner:
            members.setdefault(symbol.owner, []).append(symbol.name)
    order = {"class": 0, "type": 0, "function": 1, "value": 2}
    tops = sorted((each for each in file.symbols if not each.owner), key=lambda each: (order[each.kind], each.line))
    return [(symbol.name + "()" * (symbol.kind == "function"), members.get(symbol.name, [])) for symbol in tops]


def list_complex_functions(repository: Repository) -> list[tuple[str, SourceFunction]]:
    found = [
        (path, each)
        for path, file in repository.code.items()
        for each in file.functions
        if each.complexity >= NOTABLE_COMPLEXITY
    ]
    found.sort(key=lambda row: (-row[1].complexity, -row[1].length, row[0], row[1].line))
    return found[:MAX_FUNCTIONS]
