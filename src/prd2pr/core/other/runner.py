"""What the shared way has to know of a test runner: how it is started, how it tells, and how a canary looks in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from prd2pr.core.evidence import Failure
from prd2pr.core.other.language import TestFile
from prd2pr.core.stacks.stack import Stack

Results = str  # "pipe": by a pipe of ours; "stdout"; "file:" and a path
Stage = Literal["collect", "setup", "call", "teardown"]
Why = Literal["code", "hook", "subtests", "timeout", "cancelled"]


@dataclass(frozen=True)
class Ground:
    """Where a run takes place. Paths of test files are those of the repository."""

    stack: Stack
    checkout: str
    secret: str  # a directory that nothing in the checkout leads to
    ours: str  # a directory with the programs that prd2pr brings along
    scratch: str
    texts: Mapping[str, str]  # test files of the stack, path → text
    whole: bool = True  # the whole suite is run, and not some files of it
    backwards: bool = False
    arguments: tuple[str, ...] = ()  # `test.args` of the configuration
    python: str = "python3"  # the interpreter that runs what prd2pr brings along
    built: str = ""  # a directory with what was built of the language itself, read-only

    def place(self, path: str) -> str:
        return f"{self.checkout}/{path}"

    @property
    def directory(self) -> str:
        """In which commands run."""
        return self.checkout if self.stack.root == "." else self.place(self.stack.root)


@dataclass(frozen=True)
class Program:
    """One process of a run, and the test files that it is about."""

    argv: tuple[str, ...]
    results: Results = "pipe"
    files: tuple[str, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)  # by standard input, with the pipe and its secret
    environment: Mapping[str, str] = field(default_factory=dict)  # beside the clean one


@dataclass(frozen=True)
class Said:
    """What came of a program."""

    program: Program
    told: str  # by the way that `results` names
    secret: str  # with which each line begins that came by the pipe
    printed: str = ""  # the end of it
    status: int | None = None  # None: it never ended
    flooded: bool = False  # it told more than anybody reads, and was stopped for it


@dataclass(frozen=True)
class Thrown:
    """An error as the runner told it, nothing of it judged."""

    name: str = ""
    message: str = ""
    stack: str = ""
    code: str = ""
    is_assertion: bool = False
    is_explicit: bool = False  # a test that says that it fails


@dataclass(frozen=True)
class Ended:
    """One test that was run, or was passed over."""

    path: str
    titles: tuple[str, ...]
    outcome: Literal["passed", "failed", "skipped"]
    thrown: Thrown | None = None
    why: Why = "code"
    seconds: float = 0


@dataclass(frozen=True)
class Broken:
    """A file whose tests could not be begun: it cannot be loaded or built."""

    path: str
    thrown: Thrown


@dataclass(frozen=True)
class Seen:
    """What a program told, read. `finished`: files that were run to their end."""

    ended: tuple[Ended, ...] = ()
    broken: tuple[Broken, ...] = ()
    finished: frozenset[str] = frozenset()
    problems: tuple[str, ...] = ()
    tools: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Canary:
    """Tests that prd2pr adds to a file: one must pass, all others must fail by an assertion."""

    path: str  # of the file that it is put into, or of one beside it
    text: str  # what is added; the whole text, where the file is new
    passing: str
    failing: tuple[str, ...]
    is_new: bool = False  # a file of its own, since the language has no other way

    @property
    def titles(self) -> frozenset[str]:
        return frozenset({self.passing, *self.failing})


Classify = Callable[[Thrown, Stage, str, TestFile, Ground], Failure]  # path of the test file, and what it declares


@dataclass(frozen=True)
class RunnerKind:
    name: str
    executable: str  # that has to be on the PATH
    version: tuple[str, ...]  # arguments by which it tells its version
    programs: Callable[[Ground, tuple[str, ...]], tuple[Program, ...]]  # for these files
    read: Callable[[Said, Ground], Seen]
    canary: Callable[[str, str, Sequence[str]], Canary | None]  # path, text, titles to take; None: there is no way
    classify: Classify
    status_with_failures: int | None = 1  # how a program ends whose canaries failed; None: nothing is known
    home: str = "node"  # under runners/: what prd2pr brings along for it


def runner_kind(name: str) -> RunnerKind:
    """Loaded when it is first asked for."""
    from prd2pr.core.other.any_runner import JUNIT, TAP
    from prd2pr.core.other.golang.runner import GO
    from prd2pr.core.other.java.runner import SUREFIRE
    from prd2pr.core.other.javascript.jest_runner import JEST
    from prd2pr.core.other.javascript.node_runner import NODE
    from prd2pr.core.other.javascript.vitest_runner import VITEST
    from prd2pr.core.other.rust.runner import CARGO

    return {kind.name: kind for kind in (NODE, VITEST, JEST, GO, CARGO, SUREFIRE, JUNIT, TAP)}[name]
