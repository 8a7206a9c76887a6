"""Select the tests that a change can reach, based on what each test file executed in the last full run.

The selection is only for roles at work; gates do not use it. Pure.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

SHOWN = 8  # maximum number of test files listed with their reason


@dataclass(frozen=True)
class ReachSurvey:
    """The project files that each test file executed."""

    tree: str  # the code that was tested
    reached: Mapping[str, frozenset[str]]  # by test file: the project files that it executed
    unsure: frozenset[str]  # test files with failures, which may not have executed everything


@dataclass(frozen=True)
class ChangedPaths:
    """The paths that changed since the survey."""

    source: frozenset[str]
    tests: frozenset[str]
    other: frozenset[str]  # test support, settings and data, which may affect any test


@dataclass(frozen=True)
class SelectedTests:
    """The test files to run, each with the reason. If empty, all files are run, and `because` gives the reason."""

    reasons: Mapping[str, str]
    because: str = ""

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(sorted(self.reasons))


def select_all_tests(because: str) -> SelectedTests:
    return SelectedTests({}, because)


def select_tests(
    survey: ReachSurvey, changed: ChangedPaths, tests: Mapping[str, str], own: Iterable[str]
) -> SelectedTests:
    """Select test files.

    `tests` maps all test files to their text, and `own` are the story's test files, which always run.
    """
    if changed.other:
        return select_all_tests(f"{min(changed.other)} has changed, and it is not known which tests depend on it")
    own_files, reasons = frozenset(own), dict[str, str]()
    for path, text in tests.items():
        if reason := _reason(path, text, survey, changed, own_files):
            reasons[path] = reason
    if reasons.keys() >= tests.keys():
        return select_all_tests("the changes can reach every test file")
    return SelectedTests(reasons)


def _reason(path: str, text: str, survey: ReachSurvey, changed: ChangedPaths, own: frozenset[str]) -> str:
    if path in own:
        return "the story's"
    if path in changed.tests or path not in survey.reached:
        return "new or changed"
    if path in survey.unsure:
        return "did not pass before"
    entered = sorted(changed.source & survey.reached[path]) or sorted(_imported(text, changed.source))
    return f"reaches {entered[0]}" if entered else ""


def _imported(text: str, files: Iterable[str]) -> Iterable[str]:
    """Return the files that the text imports.

    The recorded executions miss files of which a test uses only constants.
    """
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):
        return files  # the imports cannot be determined
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    froms = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    names |= {node.module for node in froms if node.module}
    names |= {f"{node.module}.{alias.name}" for node in froms if node.module for alias in node.names}
    return [path for path in files if any(_is_module(path, name) for name in names)]


def _is_module(path: str, name: str) -> bool:
    parts = PurePosixPath(path).with_suffix("").parts
    parts = parts[:-1] if parts[-1:] == ("__init__",) else parts
    return bool(parts) and parts[-len(name.split(".")) :] == tuple(name.split("."))


def format_selection_text(selection: SelectedTests, total: int) -> str:
    """Describe to the role which tests ran and why."""
    if not selection.reasons:
        return f"All tests were run: {selection.because}."
    reasons = [f"{path} ({reason})" for path, reason in sorted(selection.reasons.items())]
    more = [f"and {len(reasons) - SHOWN} more"] if len(reasons) > SHOWN else []
    return (
        f"{len(reasons)} of {total} test files were run: {', '.join([*reasons[:SHOWN], *more])}. "
        "In the last full run, the others executed "
        'none of the files that you changed. The gate runs all tests; to run all now, use `"all": true`.'
    )
