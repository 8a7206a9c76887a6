"""The `Language` interface: the functions that every language package other than Python provides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from prd2pr.domain.evidence import Fact, Signature
from prd2pr.languages.mutation_plan import Edit, Fault, ReturnReplacement


@dataclass(frozen=True)
class DeclaredTestCase:
    """A test declared in the text of a file."""

    id: str  # path::suite > title; numbered if the title occurs twice
    line: int
    last: int
    body: str  # without comments and layout, to detect edits
    described: str  # its text with the comment above it and its suites' titles; names its criteria
    pattern: str = ""  # of a title with placeholders: matches the titles that the run reports


@dataclass(frozen=True)
class ParsedTestFile:
    __test__ = False
    tests: tuple[DeclaredTestCase, ...] = ()
    broken: int = 0  # line of the first syntax error; 0: none
    subject_lines: tuple[int, ...] = ()  # that use the project's code
    called: tuple[str, ...] | None = ()  # dotted names of the project that it uses; None: not determined
    setup_lines: tuple[int, ...] = ()  # of hooks: a failure there is a fixture failure


@dataclass(frozen=True)
class TestContext:
    """What checks of a test file need in addition to the file."""

    __test__ = False
    runner: str
    new_tests: frozenset[str] = frozenset()  # ids without parameters
    planned: tuple[str, ...] = ()  # dotted names
    helpers: frozenset[str] = frozenset()  # functions of other files that assert


@dataclass(frozen=True)
class SourceContext:
    """What checks of a source file need in addition to the file. `tests`: the story's test files, path → text."""

    tests: Mapping[str, str] = field(default_factory=dict)
    for_tests: frozenset[str] = frozenset()  # directories built only for tests


TestFacts = Callable[[str, str, TestContext], Iterable[Fact]]
SourceFacts = Callable[[str, str, str, SourceContext], Iterable[Fact]]


def find_nothing(*_: Any) -> tuple[Any, ...]:
    """What a language answers if it does not have the check."""
    return ()


def find_no_names(*_: Any) -> frozenset[str]:
    return frozenset()


@dataclass(frozen=True)
class Language:
    """A language as a value. Its functions take a path and a text, and never raise because of the text."""

    name: str
    file_endings: tuple[str, ...]
    is_test_file: Callable[[str], bool]
    measure_source: Callable[[Mapping[str, str]], dict[str, int]]
    normalize_program: Callable[[str, str], str]  # the program without comments and layout
    name_module: Callable[[str], str]  # dotted name of a file, as designs name it
    read_tests: Callable[[str, str], ParsedTestFile] = lambda _, __: ParsedTestFile()
    check_tests: TestFacts = find_nothing
    check_source: SourceFacts = find_nothing  # path, text before (empty: new), text now
    list_signatures: Callable[[str, str], tuple[Signature, ...]] = find_nothing
    make_knock_outs: Callable[[str, str, str], tuple[Fault, ...]] = find_nothing  # path, text before, text now
    make_mutants: Callable[[str, str, str], tuple[Fault, ...]] = find_nothing
    make_wrong_expectations: Callable[[str, str], tuple[Fault, ...]] = find_nothing  # of a test file
    replace_return_values: Callable[[str, str, str], tuple[ReturnReplacement, ...]] = find_nothing
    # From manifests and changed source: edits that make the test build like a release build.
    make_release_edits: Callable[[Mapping[str, str], Sequence[str]], tuple[tuple[str, Edit], ...]] = find_nothing
    # From manifests (path → text): directories built only for tests.
    find_test_directories: Callable[[Mapping[str, str]], frozenset[str]] = find_no_names
    find_asserting_functions: Callable[[str, str], frozenset[str]] = find_no_names  # of a helper file
    # Changes of a manifest by GREEN or REFACTOR beyond dependencies.
    check_manifest: Callable[[str, str, str], Iterable[Fact]] = find_nothing

    def owns(self, path: str) -> bool:
        return path.endswith(self.file_endings)
