"""All that a tree says of itself: its paths, its sources, its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from prd2pr.core.evidence import PathKind
from prd2pr.core.living.languages import PYTHON
from prd2pr.core.living.settings import Settings
from prd2pr.core.living.source_file import SourceFile
from prd2pr.core.paths import CONVENTIONS, PathRules, classify_path

TEST_KINDS = frozenset({PathKind.TEST, PathKind.TEST_CONFIG})


@dataclass(frozen=True)
class Repository:
    """`paths` in order, without the living docs themselves: they would otherwise tell of themselves."""

    paths: tuple[str, ...] = ()
    sources: Mapping[str, SourceFile] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    rules: PathRules = CONVENTIONS
    unread: int = 0  # source files that are too large, or too many, to be looked into
    ignored: frozenset[str] = frozenset()  # lines of the `.gitignore` at the root
    foreign: int = 0  # source files of others that lie here: node_modules, vendor …

    def is_test(self, path: str) -> bool:
        return classify_path(path, self.rules) in TEST_KINDS

    @cached_property
    def code(self) -> dict[str, SourceFile]:
        """Sources that are no tests, in the order of their paths."""
        return {path: self.sources[path] for path in sorted(self.sources) if not self.is_test(path)}

    @cached_property
    def tests(self) -> dict[str, SourceFile]:
        return {path: self.sources[path] for path in sorted(self.sources) if self.is_test(path)}

    @cached_property
    def python(self) -> dict[str, SourceFile]:
        return {path: file for path, file in self.code.items() if file.language == PYTHON}

    @property
    def languages(self) -> tuple[str, ...]:
        """The one with the most lines first."""
        lines: dict[str, int] = {}
        for file in self.code.values():
            lines[file.language] = lines.get(file.language, 0) + file.lines
        return tuple(sorted(lines, key=lambda name: (-lines[name], name)))
