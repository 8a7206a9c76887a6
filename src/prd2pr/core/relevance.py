"""Which files of a repository a story is about: those it names, and those that its own files import. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from prd2pr.core.records import Design, Story
from prd2pr.core.run_words import joined
from prd2pr.core.signatures import module_name
from prd2pr.core.testfacts_model import absolute_module, is_test_module, parse

DESIGNS_LIMIT = 1_500
_DEFINED = re.compile(r"^(?:class|(?:async )?def) +([^\W_]\w*)", re.MULTILINE)  # parsing thousands of files takes long


def spoken_of(files: Mapping[str, str], story: Story, *, apart: Collection[str] = ()) -> tuple[str, ...]:
    """Source files whose module, classes or functions the story's text names, the most named first.

    Only the story decides, not what has been written for it so far: so the choice is the same in all of its steps.
    """
    text = "\n".join(_texts(story))
    words = frozenset(re.findall(r"\w+", text))
    found = {
        path: len(_named_in(path, source, text, words))
        for path, source in files.items()
        if path.endswith(".py") and path not in apart and not _is_for_tests(path)
    }
    return tuple(sorted((path for path in found if found[path]), key=lambda path: (-found[path], path)))


def imported_by(files: Mapping[str, str], paths: Iterable[str]) -> tuple[str, ...]:
    """The project's own modules that these files import directly, in the order of their first import."""
    by_module = {module_name(path): path for path in files if path.endswith(".py")}
    wanted = (name for path in paths if path in files for name in _imports(path, files[path]))
    return tuple(dict.fromkeys(by_module[name] for name in wanted if name in by_module))


def _is_for_tests(path: str) -> bool:
    return is_test_module(path) or path.startswith(("tests/", "test/")) or path.rpartition("/")[2] == "conftest.py"


def _texts(story: Story) -> Iterator[str]:
    yield from (story.title, story.description, story.module, story.interface)
    for criterion in story.criteria:
        yield from (criterion.text, criterion.example)


def _named_in(path: str, source: str, text: str, words: frozenset[str]) -> set[str]:
    module = module_name(path)
    found = {name for name in _DEFINED.findall(source) if name in words and _is_meant(name, text)}
    return found | ({module} if "." in module and module in text else set())


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
