"""Find the files that are relevant to a story: those that it names, and those that its own files import."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from prd2pr.domain.records import Design, Story
from prd2pr.domain.wording import limit_lines
from prd2pr.languages.python.signatures import get_module_name
from prd2pr.languages.python.test_model.module import get_absolute_module, parse_python
from prd2pr.languages.python.test_naming import DEFAULT_NAMING

DESIGNS_LIMIT = 1_500
_SCRIPT_FILE = re.compile(r"\.[cm]?[jt]sx?$")
_SCRIPT_TEST_FILE = re.compile(r"\.(test|spec)\.[cm]?[jt]sx?$")
_DEFINITION = re.compile(
    r"^(?:class|(?:async )?def) +([^\W_]\w*)", re.MULTILINE
)  # a regex, because parsing thousands of files takes too long


def find_named_files(files: Mapping[str, str], text: str) -> tuple[str, ...]:
    """Find source files whose module, classes or functions are named in the text, most frequently named first."""
    words = frozenset(re.findall(r"\w+", text))
    named = {path: _count_named(path, source, text, words) for path, source in files.items() if _is_source(path)}
    return tuple(sorted((path for path in named if named[path]), key=lambda path: (-named[path], path)))


def find_relevant_files(files: Mapping[str, str], text: str, paths: Iterable[str] = ()) -> tuple[str, ...]:
    """List the given paths, then files that the text names, then their imports, then tests of the given paths."""
    given = tuple(path for path in paths if path in files)
    named = find_named_files(files, text)
    return tuple(
        dict.fromkeys(
            (*given, *named, *find_imported_files(files, (*given, *named)), *find_importing_tests(files, given))
        )
    )


def find_imported_files(files: Mapping[str, str], paths: Iterable[str]) -> tuple[str, ...]:
    """Find the project's own modules that these files import directly, in the order of their first import."""
    by_module = {get_module_name(path): path for path in files if path.endswith(".py")}
    wanted = (name for path in paths if path in files for name in _iter_imports(path, files[path]))
    return tuple(dict.fromkeys(by_module[name] for name in wanted if name in by_module))


def find_importing_tests(files: Mapping[str, str], paths: Iterable[str]) -> tuple[str, ...]:
    """Find Python tests that import these source files directly."""
    modules = {get_module_name(path) for path in paths if path.endswith(".py")}
    ends = tuple(module.rpartition(".")[2] for module in modules)
    near = (
        path for path, source in files.items() if DEFAULT_NAMING.is_module(path) and any(end in source for end in ends)
    )
    return tuple(sorted(path for path in near if not modules.isdisjoint(_iter_imports(path, files[path]))))


def find_covering_tests(files: Mapping[str, str], paths: Iterable[str]) -> tuple[str, ...]:
    """Find tests in any language that import these source files directly; for Go, those of the same package."""
    listed = tuple(paths)
    others = (path for path in files for source in listed if _imports_source(path, files[path], PurePosixPath(source)))
    return tuple(sorted({*find_importing_tests(files, listed), *others}))


def _imports_source(path: str, text: str, source: PurePosixPath) -> bool:
    name = re.escape(source.stem)
    if source.suffix == ".go":
        return path.endswith("_test.go") and PurePosixPath(path).parent == source.parent
    if source.suffix == ".rs":
        return (
            path.endswith(".rs")
            and "tests" in PurePosixPath(path).parts[:-1]
            and bool(re.search(rf"::{name}\b|::\{{[^}}]*\b{name}\b", text))
        )
    imported = rf"""["'][^"'\n]*/{name}(\.[cm]?[jt]sx?)?["']"""
    return bool(_SCRIPT_TEST_FILE.search(path) and _SCRIPT_FILE.search(source.name) and re.search(imported, text))


def split_words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def format_story_text(story: Story) -> str:
    criteria = (text for criterion in story.criteria for text in (criterion.text, criterion.example))
    return "\n".join([story.title, story.description, story.module, story.interface, *criteria])


def format_design_text(design: Design) -> str:
    return "\n".join([design.summary, *(symbol.declaration for symbol in design.symbols), *design.decisions])


def _is_source(path: str) -> bool:
    for_tests = (
        path.startswith(("tests/", "test/"))
        or path.rpartition("/")[2] == "conftest.py"
        or DEFAULT_NAMING.is_module(path)
    )
    return path.endswith(".py") and not for_tests


def _count_named(path: str, source: str, text: str, words: frozenset[str]) -> int:
    """Count how many of the file's names occur in the text."""
    module = get_module_name(path)
    names = {name for name in _DEFINITION.findall(source) if name in words and _is_identifier(name, text)}
    return len(names) + int("." in module and module in text)


def _is_identifier(name: str, text: str) -> bool:
    """Return whether a name is used as code: `earn` may be an ordinary word; `earn(`, `my_cart` and `Cart` are not."""
    return "_" in name or not name.islower() or f"{name}(" in text


def _iter_imports(path: str, source: str) -> Iterator[str]:
    tree = parse_python(source)
    module = get_module_name(path)
    package = module if path.endswith("__init__.py") else module.rpartition(".")[0]
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = get_absolute_module(node, package)
            yield from (f"{base}.{alias.name}" for alias in node.names)
            yield base


def summarize_designs(stories: Sequence[tuple[Story, Design]], limit: int = DESIGNS_LIMIT) -> str:
    """Summarize the decisions and symbols of the stories that this one builds on, the nearest first."""
    return "\n".join(
        limit_lines((line for story, design in stories for line in _summarize_design(story, design)), limit)
    )


def _summarize_design(story: Story, design: Design) -> Iterator[str]:
    yield f"{story.id}: {story.title}"
    yield from (f"  decided: {decision}" for decision in design.decisions)
    if design.symbols:
        yield f"  made: {', '.join(symbol.name for symbol in design.symbols)}"
