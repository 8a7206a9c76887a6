"""`StepAnalysis`: the interface between gathering and a language. Python and all other languages implement it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from prd2pr.domain.evidence import Comparison, Fact, RunReport
from prd2pr.domain.results.differential import DifferentialResult
from prd2pr.domain.results.mutation import MutationResult
from prd2pr.domain.results.removal import Removal
from prd2pr.languages.mutation_plan import MutationPlan
from prd2pr.verification.codebase import Codebase, TreePair
from prd2pr.verification.gather.context import GatherCase, find_parent_directories
from prd2pr.verification.story_tests import RedTests

MAX_NAMED_MODULES = 2000  # limit, so that the names of a large project do not swamp the evidence


@dataclass(frozen=True)
class RedReading:
    """The results of analyzing a RED step's test files and test run. `fields` are fields of the evidence."""

    tests: RedTests
    comparison: Comparison
    fields: Mapping[str, Any]


class StepAnalysis(ABC):
    """Reads the source and test files of one step in one language.

    For checks that a language does not have, the defaults of this class apply. `languages.capabilities` lists these
    checks.
    """

    # Whether mutation testing also runs the tests in other circumstances: in another order, twice, at another time.
    varies_circumstances = False
    # Whether trials do not disturb each other or the suite. Build tools use all cores and lock shared caches.
    isolates_trials = False

    def __init__(self, case: GatherCase) -> None:
        self.case = case

    @property
    def pair(self) -> TreePair:
        return self.case.pair

    # --- every phase --------------------------------------------------------------------------------------------------

    def build_common_fields(self) -> dict[str, Any]:
        return self.case.build_common_fields()

    def find_canary_directories(self, tests: Iterable[tuple[str, str]]) -> set[str]:
        """Return the directories of the story's tests, given as their ids before and after INTEGRATED."""
        return find_parent_directories(now.partition("::")[0] for _, now in tests)

    # --- RED ----------------------------------------------------------------------------------------------------------

    @abstractmethod
    def list_changed_test_files(self) -> tuple[str, ...]:
        """Return the changed files of the tests, including helpers."""

    @abstractmethod
    def is_test_file(self, path: str) -> bool: ...

    @abstractmethod
    def read_red(self, touched: tuple[str, ...], modules: tuple[str, ...], head: RunReport) -> RedReading:
        """Find the story's tests.

        `touched` are the changed test files and helpers, and `modules` those that contain tests.
        """

    # --- GREEN and REFACTOR -------------------------------------------------------------------------------------------

    @abstractmethod
    def find_claimed_tests(self) -> tuple[str, ...]:
        """Return the tests that a person's commits left failing for GREEN."""

    def restore_stopped_tests(self, claimed: tuple[str, ...]) -> tuple[str, ...]:
        """Replace the tests of files that RED made impossible to import by the tests that passed in them before RED."""
        return claimed

    def list_protecting_tests(self) -> tuple[str, ...]:
        """Return the tests that protect a refactoring by a person, which belongs to no story."""
        return ()

    def find_oracle_blobs(self) -> dict[str, str]:
        """Map changed files with expected results outside the test directories to their blobs before the step."""
        return {}

    def find_removal(self, _kept: set[str]) -> Removal | None:
        """Find dead code that was removed with its tests. The given test files must stay."""
        return None

    @abstractmethod
    def plan_mutations(self, new: Codebase, old: Codebase, tests: tuple[str, ...]) -> MutationPlan:
        """Plan the faults in the code that `new` adds to `old`."""

    def plan_verified_mutations(self, tests: tuple[str, ...]) -> MutationPlan:  # noqa: ARG002 for languages that can
        """Plan mutants of existing code that the tests use. A language without this has none."""
        return MutationPlan()

    def drop_exempt_results(self, mutation: MutationResult) -> MutationResult:
        """Return the result without differences that tests are not expected to detect."""
        return mutation

    def start_comparison(
        self, _tests: tuple[str, ...], _restore: Mapping[str, str]
    ) -> Callable[[], DifferentialResult] | None:
        """Start calling the code before and after a refactoring with the same arguments."""
        return None

    @abstractmethod
    def find_source_facts(self, tests: set[str]) -> tuple[Fact, ...]:
        """Check the changed source. `tests` are the story's test files."""

    @abstractmethod
    def describe_refactoring(self) -> dict[str, Any]:
        """Return the signatures and metrics before and after as fields of the evidence."""
