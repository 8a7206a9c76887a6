"""The `Language` interface, which every language package other than Python implements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from prd2pr.domain.evidence import Fact, Signature
from prd2pr.languages.mutation_plan import Edit, Fault, ReturnReplacement


@dataclass(frozen=True)
class DeclaredTestCase:
    """A test that a test file declares."""

    id: str  # path::suite > title, with a number if the title occurs twice
    line: int
    last: int
    body: str  # code without comments and layout, to detect edits
    described: str  # text, comment above it and titles of its suites, where it names its criteria
    pattern: str = ""  # matches the reported titles if the declared one has placeholders


@dataclass(frozen=True)
class ParsedTestFile:
    __test__ = False
    tests: tuple[DeclaredTestCase, ...] = ()
    broken: int = 0  # line of the first syntax error, or 0
    subject_lines: tuple[int, ...] = ()  # lines that use the project's code
    called: tuple[str, ...] | None = ()  # dotted names of the project's code that it uses; None if unknown
    setup_lines: tuple[int, ...] = ()  # lines of hooks, in which a failure is a fixture failure


@dataclass(frozen=True)
class TestContext:
    """Additional input for the checks of a test file."""

    __test__ = False
    runner: str
    new_tests: frozenset[str] = frozenset()  # test ids without parameters
    planned: tuple[str, ...] = ()  # dotted names of planned code
    helpers: frozenset[str] = frozenset()  # asserting functions in other files
    subject_helpers: frozenset[str] = frozenset()  # functions in other test files that use the project's code


@dataclass(frozen=True)
class SourceContext:
    """Additional input for the checks of a source file. `tests` maps the story's test files to their text."""

    tests: Mapping[str, str] = field(default_factory=dict)
    for_tests: frozenset[str] = frozenset()  # directories built only for tests
    files: Mapping[str, str] = field(default_factory=dict)  # all files of the language, and `package.json`


TestFacts = Callable[[str, str, TestContext], Iterable[Fact]]
SourceFacts = Callable[[str, str, str, SourceContext], Iterable[Fact]]


def find_nothing(*_: Any) -> tuple[Any, ...]:
    """Return no results. This is the default for checks that a language does not have."""
    return ()


def find_no_names(*_: Any) -> frozenset[str]:
    return frozenset()


@dataclass(frozen=True)
class Language:
    """A language. Its functions take a path and a text, and never raise an error because of the text."""

    name: str
    file_endings: tuple[str, ...]
    is_test_file: Callable[[str], bool]
    measure_source: Callable[[Mapping[str, str]], dict[str, int]]
    normalize_program: Callable[[str, str], str]  # removes comments and layout
    name_module: Callable[[str], str]  # returns the dotted name that designs use
    read_tests: Callable[[str, str], ParsedTestFile] = lambda _, __: ParsedTestFile()
    check_tests: TestFacts = find_nothing
    check_source: SourceFacts = find_nothing  # path, text before (empty if new), text now
    list_signatures: Callable[[str, str], tuple[Signature, ...]] = find_nothing
    make_knock_outs: Callable[[str, str, str], tuple[Fault, ...]] = find_nothing  # path, text before, text now
    make_mutants: Callable[[str, str, str], tuple[Fault, ...]] = find_nothing
    make_wrong_expectations: Callable[[str, str], tuple[Fault, ...]] = find_nothing  # takes a test file
    replace_return_values: Callable[[str, str, str], tuple[ReturnReplacement, ...]] = find_nothing
    # Takes manifests and changed source; returns edits that make the test build like a release build.
    make_release_edits: Callable[[Mapping[str, str], Sequence[str]], tuple[tuple[str, Edit], ...]] = find_nothing
    # Takes manifests (path → text); returns directories that are built only for tests.
    find_test_directories: Callable[[Mapping[str, str]], frozenset[str]] = find_no_names
    find_asserting_functions: Callable[[str, str], frozenset[str]] = find_no_names  # takes a helper file
    find_subject_functions: Callable[[str, str], frozenset[str]] = find_no_names  # takes a test file or helper file
    # Reports manifest changes other than dependencies, which GREEN and REFACTOR may not make.
    check_manifest: Callable[[str, str, str], Iterable[Fact]] = find_nothing

    def owns(self, path: str) -> bool:
        return path.endswith(self.file_endings)
