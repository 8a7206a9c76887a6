"""What the shared way has to know of a language. A description is one of these, in a package of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from prd2pr.core.bite.plan import Answering, Fault
from prd2pr.core.bite.text import Edit
from prd2pr.core.evidence import Fact, Signature


@dataclass(frozen=True)
class Declared:
    """A test as the text of its file declares it."""

    id: str  # path::suite > title; where the same title stands twice, with a number
    line: int
    last: int
    body: str  # without comments and layout: whether it was edited
    said: str  # with the comment above it, and what its suites are called: which criteria it names
    pattern: str = ""  # of a title with holes: the titles that the run will tell


@dataclass(frozen=True)
class TestFile:
    __test__ = False
    tests: tuple[Declared, ...] = ()
    broken: int = 0  # line of the first syntax error; 0: none
    subject_lines: tuple[int, ...] = ()  # that work on what is imported from the project
    called: tuple[str, ...] | None = ()  # dotted names of the project that it uses; None: nobody reads that here
    setup_lines: tuple[int, ...] = ()  # of hooks: what fails there has not begun


@dataclass(frozen=True)
class TestContext:
    """What facts about tests depend on, beside the file."""

    __test__ = False
    runner: str
    new_tests: frozenset[str] = frozenset()  # ids without parameters
    planned: tuple[str, ...] = ()  # dotted names
    helpers: frozenset[str] = frozenset()  # functions outside of the file that assert for it


@dataclass(frozen=True)
class SourceContext:
    """What facts about source depend on, beside the file. `tests`: the story's test files, path → text."""

    tests: Mapping[str, str] = field(default_factory=dict)
    for_tests: frozenset[str] = frozenset()  # directories that only tests are built with


TestFacts = Callable[[str, str, TestContext], Iterable[Fact]]
SourceFacts = Callable[[str, str, str, SourceContext], Iterable[Fact]]


def no_mutants(_: str, __: str, ___: str) -> tuple[Fault, ...]:
    return ()


def no_answers(_: str, __: str, ___: str) -> tuple[Answering, ...]:
    return ()


def none_for_tests(_: Mapping[str, str]) -> frozenset[str]:
    return frozenset()


def none_asserting(_: str, __: str) -> frozenset[str]:
    return frozenset()


def not_built_otherwise(_: Mapping[str, str], __: Sequence[str]) -> tuple[tuple[str, Edit], ...]:
    return ()


def nothing_said(_: str, __: str, ___: str) -> tuple[Fact, ...]:
    return ()


@dataclass(frozen=True)
class Language:
    """Functions take a path and its text, and never raise on what a text may hold."""

    name: str
    endings: tuple[str, ...]
    is_test_file: Callable[[str], bool]
    tests: Callable[[str, str], TestFile]
    test_facts: TestFacts
    source_facts: SourceFacts  # path, text before (empty: new), text now
    signatures: Callable[[str, str], tuple[Signature, ...]]
    knock_outs: Callable[[str, str, str], tuple[Fault, ...]]  # path, text before, text now
    wrong_expectations: Callable[[str, str], tuple[Fault, ...]]  # of a test file
    measure: Callable[[Mapping[str, str]], dict[str, int]]
    tokens: Callable[[str, str], str]  # the program without comments and layout
    module: Callable[[str], str]  # dotted name of a file, as designs name it
    mutants: Callable[[str, str, str], tuple[Fault, ...]] = no_mutants  # path, text before, text now
    other_answers: Callable[[str, str, str], tuple[Answering, ...]] = no_answers  # path, text before, text now
    # Edits by which it is built as it is where it is used; for which manifests and which changed source.
    released: Callable[[Mapping[str, str], Sequence[str]], tuple[tuple[str, Edit], ...]] = not_built_otherwise
    # Directories that only tests are built with, by the manifests: path → text.
    for_tests: Callable[[Mapping[str, str]], frozenset[str]] = none_for_tests
    asserting: Callable[[str, str], frozenset[str]] = none_asserting  # functions of a helper file that assert
    # Of a manifest that GREEN or REFACTOR changes: what in it is more than dependencies.
    manifest_facts: Callable[[str, str, str], Iterable[Fact]] = nothing_said

    def owns(self, path: str) -> bool:
        return path.endswith(self.endings)


def language_of(name: str) -> Language:
    """Loaded when it is first asked for: grammars take a while, and most projects need none."""
    if name in {"javascript", "typescript"}:
        from prd2pr.core.other.javascript import LANGUAGE as JAVASCRIPT

        return JAVASCRIPT
    if name == "go":
        from prd2pr.core.other.golang import LANGUAGE as GO

        return GO
    if name == "rust":
        from prd2pr.core.other.rust import LANGUAGE as RUST

        return RUST
    if name == "java":
        from prd2pr.core.other.java import LANGUAGE as JAVA

        return JAVA
    from prd2pr.core.other.unread import LANGUAGE as UNREAD

    return UNREAD
