"""Which tests a change can reach, by what each test file entered when all of them were run. Pure.

A hint for whoever is at work: it says what is worth running now. No gate asks it anything.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

SHOWN = 8  # test files that are named with their reason


@dataclass(frozen=True)
class Survey:
    tree: str  # whose tests were run
    reached: Mapping[str, frozenset[str]]  # test file -> files of the project that it entered
    unsure: frozenset[str]  # test files with tests that did not pass: they may have been cut short


@dataclass(frozen=True)
class Changed:
    """Since the survey."""

    source: frozenset[str]
    tests: frozenset[str]  # test files
    other: frozenset[str]  # support of tests, settings, data: whom these reach is not known


@dataclass(frozen=True)
class Selection:
    """Test files to run, and why each; or, with none, all of them, and why."""

    reasons: Mapping[str, str]
    because: str = ""

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(sorted(self.reasons))


def everything(because: str) -> Selection:
    return Selection({}, because)


def select(survey: Survey, changed: Changed, tests: Mapping[str, str], own: Iterable[str]) -> Selection:
    """`tests`: the test files that there are, with their text. `own`: those of the story, which always run."""
    if changed.other:
        return everything(f"{min(changed.other)} has changed, and which tests depend on it is not known")
    mine, reasons = frozenset(own), dict[str, str]()
    for path, text in tests.items():
        if reason := _reason(path, text, survey, changed, mine):
            reasons[path] = reason
    if reasons.keys() >= tests.keys():
        return everything("the changes can reach every test file")
    return Selection(reasons)


def _reason(path: str, text: str, survey: Survey, changed: Changed, own: frozenset[str]) -> str:
    if path in own:
        return "the story's"
    if path in changed.tests or path not in survey.reached:
        return "new or changed"
    if path in survey.unsure:
        return "did not pass before"
    entered = sorted(changed.source & survey.reached[path]) or sorted(_imported(text, changed.source))
    return f"reaches {entered[0]}" if entered else ""


def _imported(text: str, files: Iterable[str]) -> Iterable[str]:
    """Those of the files that the text imports by name: a constant is used without anything being entered."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):
        return files  # nobody can say
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    froms = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    names |= {node.module for node in froms if node.module}
    names |= {f"{node.module}.{alias.name}" for node in froms if node.module for alias in node.names}
    return [path for path in files if any(_is_module(path, name) for name in names)]


def _is_module(path: str, name: str) -> bool:
    parts = PurePosixPath(path).with_suffix("").parts
    parts = parts[:-1] if parts[-1:] == ("__init__",) else parts
    return bool(parts) and parts[-len(name.split(".")) :] == tuple(name.split("."))


def told(selection: Selection, of: int) -> str:
    """For the role: which tests ran, and why not the others."""
    if not selection.reasons:
        return f"All tests were run: {selection.because}."
    named = [f"{path} ({reason})" for path, reason in sorted(selection.reasons.items())]
    more = [f"and {len(named) - SHOWN} more"] if len(named) > SHOWN else []
    return (
        f"{len(named)} of {of} test files were run: {', '.join([*named[:SHOWN], *more])}. The others entered none of "
        'the files that you changed, when all were run last. The gate runs all; so does `"all": true`.'
    )
