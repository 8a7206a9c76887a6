"""The facts read from a code tree: its paths, source files and settings, cached by blob."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

from prd2pr.domain.evidence import PathKind
from prd2pr.domain.paths import CONVENTIONS, PathRules, classify_path
from prd2pr.livingdocs.cache import FactsCache
from prd2pr.livingdocs.readers.languages import PYTHON, detect_file_language, is_vendored
from prd2pr.livingdocs.readers.other_file import read_source_file
from prd2pr.livingdocs.readers.settings import ProjectSettings, is_settings_file, read_project_settings
from prd2pr.livingdocs.readers.source_file import SourceFile, source_file_from_json, source_file_to_json
from prd2pr.state.git import BlobRef, Git

LARGEST_SOURCE = 500_000  # in bytes; larger files are assumed to be generated
MAX_SOURCES = 20_000
REGULAR = frozenset({"100644", "100755"})
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


def read_repository(
    git: Git, files: Mapping[str, BlobRef], rules: PathRules, living: frozenset[str], cache: FactsCache
) -> Repository:
    """Read the facts of a tree, without the files in `living`."""
    paths = tuple(sorted(path for path in files if path not in living))
    sources, unread = read_source_files(git, files, paths, cache)
    wanted = [path for path in paths if is_settings_file(path) and files[path].mode in REGULAR]
    texts = read_file_texts(git, files, wanted)
    ignored = read_file_texts(git, files, [path for path in (".gitignore",) if path in files])
    lines = frozenset(line.strip() for text in ignored.values() for line in text.splitlines())
    return Repository(
        paths,
        sources,
        read_project_settings(texts, paths),
        rules,
        unread,
        lines,
        foreign=sum(bool(detect_file_language(path)) and is_vendored(path) for path in paths),
    )


def read_file_texts(git: Git, files: Mapping[str, BlobRef], paths: Sequence[str]) -> dict[str, str]:
    blobs = git.read_blobs(files[path].blob for path in paths)
    return {path: blobs[files[path].blob].decode("utf-8", "replace") for path in paths}


def read_source_files(
    git: Git, files: Mapping[str, BlobRef], paths: Sequence[str], cache: FactsCache
) -> tuple[dict[str, SourceFile], int]:
    """Return the facts of each source file, cached if possible, and the number of files that were not read."""
    own = [
        path for path in paths if detect_file_language(path) and not is_vendored(path) and files[path].mode in REGULAR
    ]
    chosen = own[:MAX_SOURCES]
    keys = {path: f"{detect_file_language(path)}:{files[path].blob}".replace(" ", "") for path in chosen}
    found = {path: source_file_from_json(line) for path in chosen if (line := cache.get(keys[path])) is not None}
    unknown = [path for path in chosen if found.get(path) is None]
    contents = git.read_blobs(files[path].blob for path in unknown)
    with pause_garbage_collection():
        for path in unknown:
            data = contents[files[path].blob]
            read = read_source_file(path, data.decode("utf-8", "replace")) if len(data) <= LARGEST_SOURCE else None
            found[path] = read
            if read is not None:
                cache.put(keys[path], source_file_to_json(read))
    sources = {path: file for path, file in found.items() if file is not None}
    return sources, len(own) - len(sources)


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Pause garbage collection.

    Syntax trees contain no reference cycles, and searching millions of nodes doubles the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
