"""The evidence about a changeset, such as a pull request, and the verdict of `prd2pr check`."""

from __future__ import annotations

from enum import StrEnum

from prd2pr.domain.evidence import Change, Comparison, Evidence, Fact, Finding, Outcome, RunSummary
from prd2pr.domain.records import Record
from prd2pr.domain.results.differential import DifferentialResult
from prd2pr.domain.results.mutation import MutantResult, MutationResult


class ChangesetKind(StrEnum):
    """The kind of a changeset. Each kind is judged by different rules."""

    BEHAVIOR = "behavior"  # source changed, and tests fail without it
    REFACTORING = "refactoring"  # source changed, and somebody claims that it behaves as before
    UNTESTED = "untested"  # source changed, and no test needs it
    TESTS = "tests"  # tests changed, but no source that they could see
    SETTINGS = "settings"  # only files that decide how tests run, such as dependencies
    NO_EFFECT = "no_effect"  # nothing that a test could see
    EMPTY = "empty"


class ChangedCode(Record):
    """A function that the changeset adds or changes, or a file in a language without a parser."""

    path: str
    line: int = 0
    function: str = ""


class EarlierTest(Record):
    """A test that passed before and that the changeset changed, skipped or removed."""

    id: str
    on_new_source: Outcome | None  # its old version with the new source; None if it is not collected
    now: Outcome | None  # its version at head; None if it is gone
    failure: str = ""  # why the old version fails with the new source
    lost_subject: str = ""  # the name that the old version needs and that the new source no longer has
    successor: str = ""  # a test at head that takes its place and was red without the new source


class Protection(Record):
    """Mutants that the old versions of the tests kill, and whether the changed and new tests kill them too."""

    killed_before: int = 0
    lost: tuple[MutantResult, ...] = ()
    values_lost: tuple[Fact, ...] = ()  # expected values that no changed or new test requires any more
    problem: str = ""  # why it could not be measured


class ChangesetEvidence(Record):
    """The observations about one stack of a changeset, from its base to its head."""

    stack: str = ""
    base_tree: str
    head_tree: str
    changes: tuple[Change, ...] = ()
    invisible: tuple[str, ...] = ()  # source files in which only comments, docstrings or annotations differ
    refactoring: str = ""  # who claims that behavior is unchanged; empty if nobody does
    code: tuple[ChangedCode, ...] = ()
    settings: Comparison | None = None  # the suite before and after the changes to how tests run
    base_run: RunSummary | None = None  # before the changes to tests and source
    head_run: RunSummary | None = None
    comparison: Comparison | None = None
    red: Evidence | None = None  # the changed tests without the new source
    green: Evidence | None = None  # the new source, with the tests locked
    refactor: Evidence | None = None
    red_tests: tuple[str, ...] = ()  # they fail without the new source
    passing_tests: tuple[str, ...] = ()  # new or changed tests that pass without it
    idle_tests: tuple[str, ...] = ()  # new or changed tests that are skipped
    failing_tests: tuple[str, ...] = ()  # new or changed tests that fail at head
    fixed_tests: tuple[str, ...] = ()  # they failed before, and were not changed
    earlier: tuple[EarlierTest, ...] = ()
    protection: Protection | None = None
    undone: tuple[MutantResult, ...] = ()  # changes of single functions, each undone alone
    behavior: DifferentialResult | None = None  # old and new code compared; None if no undone change survived
    existing: MutationResult | None = None  # mutation testing of existing code with the new tests
    facts: tuple[Fact, ...] = ()


class ChangesetVerdict(Record):
    kind: ChangesetKind
    accepted: bool
    headline: str
    findings: tuple[Finding, ...] = ()

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.findings if each.severity == "error")
