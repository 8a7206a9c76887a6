"""The `RunnerKind` interface: how a test runner is started, how its output is read, and how its canaries look."""

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
    texts: Mapping[str, str]  # test files of the stack, path → text
    whole: bool = True  # False: only some files
    is_reversed: bool = False
    arguments: tuple[str, ...] = ()  # `test.args` of the configuration
    python: str = "python3"  # the interpreter of prd2pr's own programs
    built: str = ""  # the built standard library, read-only

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
    )  # passed by standard input, with the pipe and its secret
    environment: Mapping[str, str] = field(default_factory=dict)  # in addition to the clean one


@dataclass(frozen=True)
class ProgramOutput:
    """The raw output of a program."""

    program: RunnerProgram
    results_text: str  # as `results` specifies
    secret: str  # the prefix of each line of the pipe
    printed: str = ""  # the end of its output
    status: int | None = None  # None: it did not end
    is_truncated: bool = False  # it produced too much output and was stopped


@dataclass(frozen=True)
class ThrownError:
    """An error as the runner reported it."""

    name: str = ""
    message: str = ""
    stack: str = ""
    code: str = ""
    is_assertion: bool = False
    is_explicit: bool = False  # an explicit failure


def describe_wrong_call(name: str, message: str) -> str:
    """Describe a call that does not fit the subject, in the form of Python's TypeError, which the RED gate reads."""
    return f"{name}() takes other arguments or returns other results than the test expects: {message}"


@dataclass(frozen=True)
class FinishedTest:
    """One test that ran or was skipped."""

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
    """The parsed output of a program. `finished`: files that ran to their end."""

    ended: tuple[FinishedTest, ...] = ()
    broken: tuple[BrokenFile, ...] = ()
    finished: frozenset[str] = frozenset()
    problems: tuple[str, ...] = ()
    tools: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CanaryTests:
    """Tests that prd2pr adds to a file: one must pass, the others must fail by an assertion."""

    path: str  # of the file they are added to, or of a new one
    text: str  # the added text; of a new file the whole text
    passing: str
    failing: tuple[str, ...]
    is_new: bool = False  # a separate file

    @property
    def titles(self) -> frozenset[str]:
        return frozenset({self.passing, *self.failing})


Classify = Callable[
    [ThrownError, Stage, str, ParsedTestFile, RunnerContext], Failure
]  # with the path of the test file and its declarations


@dataclass(frozen=True)
class RunnerKind:
    name: str
    executable: str  # must be on the PATH
    version: tuple[str, ...]  # the command that prints its version
    programs: Callable[[RunnerContext, tuple[str, ...]], tuple[RunnerProgram, ...]]  # for these files
    read: Callable[[ProgramOutput, RunnerContext], ProgramResults]
    make_canary: Callable[[str, str, Sequence[str]], CanaryTests | None]  # path, text, titles; None: not possible
    classify_failure: Classify
    status_with_failures: int | None = 1  # the exit status if canaries failed; None: unknown
    home: str = "javascript/reporters"  # below languages/: the directory of prd2pr's own programs
