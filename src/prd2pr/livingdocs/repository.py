"""The facts read from a code tree: its paths, source files and settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from prd2pr.domain.evidence import PathKind
from prd2pr.domain.paths import CONVENTIONS, PathRules, classify_path
from prd2pr.livingdocs.readers.languages import PYTHON
from prd2pr.livingdocs.readers.settings import ProjectSettings
from prd2pr.livingdocs.readers.source_file import SourceFile

TEST_KINDS = frozenset({PathKind.TEST, PathKind.TEST_CONFIG})


@dataclass(frozen=True)
class Repository:
    """A code tree. `paths` are sorted and do not include the living docs themselves."""

    paths: tuple[str, ...] = ()
    sources: Mapping[str, SourceFile] = field(default_factory=dict)
    settings: ProjectSettings = field(default_factory=ProjectSettings)
    rules: PathRules = CONVENTIONS
    unread: int = 0  # number of source files that were not read: too large or too many
    ignored: frozenset[str] = frozenset()  # lines of the `.gitignore` at the root
    foreign: int = 0  # number of vendored source files, as in node_modules

    def is_test(self, path: str) -> bool:
        return classify_path(path, self.rules) in TEST_KINDS

    @cached_property
    def code(self) -> dict[str, SourceFile]:
        """Source files other than tests, sorted by path."""
        return {path: self.sources[path] for path in sorted(self.sources) if not self.is_test(path)}

    @cached_property
    def tests(self) -> dict[str, SourceFile]:
        return {path: self.sources[path] for path in sorted(self.sources) if self.is_test(path)}

    @cached_property
    def python(self) -> dict[str, SourceFile]:
        return {path: file for path, file in self.code.items() if file.language == PYTHON}

    @property
    def languages(self) -> tuple[str, ...]:
        """The project's languages, most lines first."""
        lines: dict[str, int] = {}
        for file in self.code.values():
            lines[file.language] = lines.get(file.language, 0) + file.lines
        return tuple(sorted(lines, key=lambda name: (-lines[name], name)))
