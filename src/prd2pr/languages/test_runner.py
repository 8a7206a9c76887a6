"""The test runner interface: requests, and the Protocol that every runner implements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from prd2pr.domain.evidence import RunReport
from prd2pr.domain.results.differential import DifferentialResult
from prd2pr.domain.results.mutation import MutationResult
from prd2pr.domain.stack import Stack
from prd2pr.languages.differential_plan import DifferentialPlan
from prd2pr.languages.mutation_plan import MutationPlan

Export = Callable[[str, Path, Mapping[str, str]], None]  # tree, directory, path -> blob that replaces it


@dataclass(frozen=True)
class RunRequest:
    code_tree: str
    paths: tuple[str, ...] = ()  # empty for the whole suite
    order: Literal["normal", "reversed"] = "normal"
    hash_seed: int = 0
    restore: Mapping[str, str] = field(default_factory=dict)  # path -> blob of locked files to restore first
    canary_dirs: tuple[str, ...] = ()  # directories whose conftest must apply to the canaries
    afresh: bool = False  # ignore cached results
    stack: Stack | None = None  # None for all stacks of the repository
    # Hash seeds of the runs requested right after this one, if known. Not part of the cache key.
    followed_by: tuple[int, ...] | None = None
    # Hash seeds of later runs, which are prepared after this run. Not part of the cache key either.
    later: tuple[int, ...] = ()


OTHER_SEED = 1  # differs from the seed of the whole suite's run


RED_RERUN_SEEDS = (OTHER_SEED, OTHER_SEED)  # the runs after RED's first: with stubs, and repeated


@dataclass(frozen=True)
class MutationRequest:
    """Faults to try on a story's tests."""

    code_tree: str
    tests: tuple[str, ...]  # node ids; an id without parameters stands for all its cases
    plan: MutationPlan
    most: int  # maximum number of mutants and of wrong expectations
    restore: Mapping[str, str] = field(default_factory=dict)
    ways: bool = True  # whether to run the tests also in other circumstances
    hash_seed: int = OTHER_SEED
    stack: Stack | None = None  # None for the stack of the tests


@dataclass(frozen=True)
class DifferentialRequest:
    """The code before and after a refactoring, to be compared on the same calls."""

    code_tree: str
    tests: tuple[str, ...]  # tests that call the code
    plan: DifferentialPlan
    partial: bool = False  # whether there are more tests than these
    restore: Mapping[str, str] = field(default_factory=dict)
    hash_seed: int = 0
    stack: Stack | None = None  # None for the stack of the tests


class TestRunner(Protocol):
    def run(self, request: RunRequest) -> RunReport:
        """Run the tests in a fresh checkout and a clean environment, with a secret result path and canaries."""
        ...

    def start_mutation_run(self, request: MutationRequest) -> Callable[[], MutationResult]:
        """Start mutation testing in a clean environment. The returned function waits for the result."""
        ...

    def start_differential_run(self, request: DifferentialRequest) -> Callable[[], DifferentialResult]:
        """Start comparing old and new code. The returned function waits for the result."""
        ...

    def expect(self, hash_seed: int = 0) -> None:
        """Prepare for a run that will be requested soon."""
        ...

    def begin(self, request: RunRequest, *, in_parallel: bool = False) -> None:
        """Start a run early that will be requested soon.

        With `in_parallel`, the run starts while others are in progress, but only if runs are isolated from each other.
        """
        ...

    def discard_early_runs(self) -> None:
        """Cancel the early runs that were not requested."""
        ...


@dataclass(frozen=True)
class SurveyResult:
    """A test run with the files that each test file executed. Roles use it; it is not evidence."""

    report: RunReport
    reached: Mapping[str, frozenset[str]] | None  # test file -> files of the project; None if unknown


@runtime_checkable
class Surveyor(Protocol):
    def survey(self, request: RunRequest) -> SurveyResult: ...


@dataclass(frozen=True)
class FileLines:
    """The lines of a file that contain statements, and those that no test executed."""

    statements: frozenset[int]
    missing: frozenset[int]


@dataclass(frozen=True)
class LineReport:
    tool: str  # as in: coverage 7.17.3
    files: Mapping[str, FileLines]


@runtime_checkable
class PythonRunner(Protocol):
    @property
    def python(self) -> Path | None:
        """The interpreter of the tests, or None if no stack has one."""
        ...


@runtime_checkable
class CoverageMeter(Protocol):
    def measure_coverage(self, code_tree: str) -> LineReport | None:
        """Run the whole suite again and return the executed lines, or None if the project has no coverage tool."""
        ...
