"""Which files of a repository a story is about: those it names, and those that its own files import. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from prd2pr.core.records import Design, Story
from prd2pr.core.run_words import joined
from prd2pr.core.signatures import module_name
from prd2pr.core.test_naming import USUAL
from prd2pr.core.testfacts_model import absolute_module, parse

DESIGNS_LIMIT = 1_500
_SCRIPT = re.compile(r"\.[cm]?[jt]sx?$")
_SCRIPT_TEST = re.compile(r"\.(test|spec)\.[cm]?[jt]sx?$")
_DEFINED = re.compile(r"^(?:class|(?:async )?def) +([^\W_]\w*)", re.MULTILINE)  # parsing thousands of files takes long


def spoken_of(files: Mapping[str, str], text: str) -> tuple[str, ...]:
    """Source files whose module, classes or functions the text names, the most named first."""
    words = frozenset(re.findall(r"\w+", text))
    named = {path: _named_in(path, source, text, words) for path, source in files.items() if _is_source(path)}
    return tuple(sorted((path for path in named if named[path]), key=lambda path: (-named[path], path)))


def relevant_to(files: Mapping[str, str], text: str, paths: Iterable[str] = ()) -> tuple[str, ...]:
    """The given paths, then what the text names, then what both import, then tests of the given paths."""
    given = tuple(path for path in paths if path in files)
    named = spoken_of(files, text)
    return tuple(dict.fromkeys((*given, *named, *imported_by(files, (*given, *named)), *tests_of(files, given))))


def imported_by(files: Mapping[str, str], paths: Iterable[str]) -> tuple[str, ...]:
    """The project's own modules that these files import directly, in the order of their first import."""
    by_module = {module_name(path): path for path in files if path.endswith(".py")}
    wanted = (name for path in paths if path in files for name in _imports(path, files[path]))
    return tuple(dict.fromkeys(by_module[name] for name in wanted if name in by_module))


def tests_of(files: Mapping[str, str], paths: Iterable[str]) -> tuple[str, ...]:
    """Tests that import these source files directly."""
    modules = {module_name(path) for path in paths if path.endswith(".py")}
    ends = tuple(module.rpartition(".")[2] for module in modules)
    near = (path for path, source in files.items() if USUAL.is_module(path) and any(end in source for end in ends))
    return tuple(sorted(path for path in near if not modules.isdisjoint(_imports(path, files[path]))))


def held_by(files: Mapping[str, str], paths: Iterable[str]) -> tuple[str, ...]:
    """Tests that import these source files directly, in whatever language; of Go, those of the same package."""
    listed = tuple(paths)
    others = (path for path in files for source in listed if _holds(path, files[path], PurePosixPath(source)))
    return tuple(sorted({*tests_of(files, listed), *others}))


def _holds(path: str, text: str, source: PurePosixPath) -> bool:
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
    return bool(_SCRIPT_TEST.search(path) and _SCRIPT.search(source.name) and re.search(imported, text))


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def story_text(story: Story) -> str:
    criteria = (text for criterion in story.criteria for text in (criterion.text, criterion.example))
    return "\n".join([story.title, story.description, story.module, story.interface, *criteria])


def design_text(design: Design) -> str:
    return "\n".join([design.summary, *(symbol.declared for symbol in design.symbols), *design.decisions])


def _is_source(path: str) -> bool:
    for_tests = (
        path.startswith(("tests/", "test/")) or path.rpartition("/")[2] == "conftest.py" or USUAL.is_module(path)
    )
    return path.endswith(".py") and not for_tests


def _named_in(path: str, source: str, text: str, words: frozenset[str]) -> int:
    """How many of its names stand in the text."""
    module = module_name(path)
    names = {name for name in _DEFINED.findall(source) if name in words and _is_meant(name, text)}
    return len(names) + int("." in module and module in text)


def _is_meant(name: str, text: str) -> bool:
    """`earn` may be a mere word; `earn(`, `check_out` and `Cart` are names."""
    return "_" in name or not name.islower() or f"{name}(" in text


def _imports(path: str, source: str) -> Iterator[str]:
    tree = parse(source)
    module = module_name(path)
    package = module if path.endswith("__init__.py") else module.rpartition(".")[0]
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = absolute_module(node, package)
            yield from (f"{base}.{alias.name}" for alias in node.names)
            yield base


def designs_in_brief(stories: Sequence[tuple[Story, Design]], limit: int = DESIGNS_LIMIT) -> str:
    """What was decided and made in the stories that this one builds on, the nearest first."""
    return "\n".join(joined((line for story, design in stories for line in _brief(story, design)), limit))


def _brief(story: Story, design: Design) -> Iterator[str]:
    yield f"{story.id}: {story.title}"
    yield from (f"  decided: {decision}" for decision in design.decisions)
    if design.symbols:
        yield f"  made: {', '.join(symbol.name for symbol in design.symbols)}"
