"""The `RunnerKind` interface: how to start a test runner, read its output and make its canaries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from prd2pr.domain.evidence import Failure
from prd2pr.domain.stack import Stack
from prd2pr.languages.base import ParsedTestFile

Results = str  # "pipe", "stdout", or "file:" and a path
Stage = Literal["collect", "setup", "call", "teardown"]
FailureCause = Literal["code", "hook", "subtests", "timeout", "cancelled"]


@dataclass(frozen=True)
class RunnerContext:
    """The context of a run. Paths of test files are relative to the repository."""

    stack: Stack
    checkout: str
    secret: str  # a directory that nothing in the checkout refers to
    ours: str  # the directory of prd2pr's own programs
    scratch: str
    texts: Mapping[str, str]  # path → text of the stack's test files
    whole: bool = True  # False if only some files are run
    is_reversed: bool = False
    arguments: tuple[str, ...] = ()  # `test.args` of the configuration
    python: str = "python3"  # the interpreter of prd2pr's own programs
    built: str = ""  # the prebuilt standard library, read-only

    def place(self, path: str) -> str:
        return f"{self.checkout}/{path}"

    @property
    def directory(self) -> str:
        """The working directory of commands."""
        return self.checkout if self.stack.root == "." else self.place(self.stack.root)


@dataclass(frozen=True)
class RunnerProgram:
    """One process of a run, with its test files."""

    argv: tuple[str, ...]
    results: Results = "pipe"
    files: tuple[str, ...] = ()
    parameters: Mapping[str, str] = field(
        default_factory=dict
    )  # passed on standard input, with the pipe and its secret
    environment: Mapping[str, str] = field(default_factory=dict)  # added to the clean environment


@dataclass(frozen=True)
class ProgramOutput:
    """The raw output of a program."""

    program: RunnerProgram
    results_text: str  # read from where `results` specifies
    secret: str  # prefix of each line in the pipe
    printed: str = ""  # the end of its output
    status: int | None = None  # None if it did not exit
    is_truncated: bool = False  # whether it was stopped for producing too much output


@dataclass(frozen=True)
class ThrownError:
    """An error as the runner reported it."""

    name: str = ""
    message: str = ""
    stack: str = ""
    code: str = ""
    is_assertion: bool = False
    is_explicit: bool = False  # whether the test failed explicitly


def describe_wrong_call(name: str, message: str) -> str:
    """Describe a call that does not fit the subject, in the form of Python's TypeError that the RED gate expects."""
    return f"{name}() takes arguments or returns results that differ from what the test expects: {message}"


@dataclass(frozen=True)
class FinishedTest:
    """A test that ran or was skipped."""

    path: str
    titles: tuple[str, ...]
    outcome: Literal["passed", "failed", "skipped"]
    thrown: ThrownError | None = None
    why: FailureCause = "code"
    seconds: float = 0


@dataclass(frozen=True)
class BrokenFile:
    """A file that cannot be loaded or built."""

    path: str
    thrown: ThrownError


@dataclass(frozen=True)
class ProgramResults:
    """The parsed output of a program. `finished` lists the files that ran to completion."""

    ended: tuple[FinishedTest, ...] = ()
    broken: tuple[BrokenFile, ...] = ()
    finished: frozenset[str] = frozenset()
    problems: tuple[str, ...] = ()
    tools: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CanaryTests:
    """Tests that prd2pr adds to a file. One must pass, and the others must fail on an assertion."""

    path: str  # path of the file that they are added to, or of a new file
    text: str  # text to add, or the whole text of a new file
    passing: str
    failing: tuple[str, ...]
    is_new: bool = False  # whether the tests are in a new file

    @property
    def titles(self) -> frozenset[str]:
        return frozenset({self.passing, *self.failing})


Classify = Callable[
    [ThrownError, Stage, str, ParsedTestFile, RunnerContext], Failure
]  # the string is the path of the test file


@dataclass(frozen=True)
class RunnerKind:
    name: str
    executable: str  # must be on the PATH
    version: tuple[str, ...]  # the command that prints its version
    programs: Callable[[RunnerContext, tuple[str, ...]], tuple[RunnerProgram, ...]]  # programs that run these files
    read: Callable[[ProgramOutput, RunnerContext], ProgramResults]
    make_canary: Callable[[str, str, Sequence[str]], CanaryTests | None]  # path, text, titles; None if impossible
    classify_failure: Classify
    status_with_failures: int | None = 1  # exit status if canaries failed; None if unknown
    home: str = "javascript/reporters"  # directory of prd2pr's own programs, below languages/
