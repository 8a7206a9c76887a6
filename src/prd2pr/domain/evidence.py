"""Evidence: the bot's own observations as plain data, and the verdict of a gate. Gates read nothing but evidence.

Evidence is gathered (checkouts, test runs, diffs) in `verification/gather/` and judged in `verification/gates/`. It is
saved with the commit that it proves, and can be judged again at any time.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar, Literal

from pydantic import Field

from prd2pr.domain.decision import Decision
from prd2pr.domain.records import (
    Document,
    DroppedExample,
    HiddenExampleFile,
    LineCoverage,
    Phase,
    PlannedSymbol,
    Record,
)
from prd2pr.domain.results.differential import DifferentialResult
from prd2pr.domain.results.mutation import MutantResult, MutationResult
from prd2pr.domain.results.removal import Removal
from prd2pr.domain.wording import clean_line, clip

# --- one test run -----------------------------------------------------------------------------------------------------

Outcome = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed"]


class FailureKind(StrEnum):
    ASSERTION = "assertion"
    MISSING_SYMBOL = "missing_symbol"  # a module, name or attribute does not exist
    NOT_IMPLEMENTED = "not_implemented"  # NotImplementedError raised by the subject
    SYNTAX = "syntax"
    FIXTURE = "fixture"  # set-up or tear-down failed, or a fixture does not exist
    IMPORT = "import"  # an import failed, but not because a name of the project is missing
    EXIT = "exit"  # SystemExit, KeyboardInterrupt, pytest.exit
    TIMEOUT = "timeout"
    COLLECTION = "collection"
    EXPLICIT = "explicit"  # pytest.fail()
    EXCEPTION = "exception"  # any other exception in the call phase


class Failure(Record):
    kind: FailureKind
    stage: Literal["collect", "setup", "call", "teardown"]
    exception: str = ""  # type name, such as AssertionError
    message: str = ""  # shortened, without local paths
    path: str = ""  # where it was raised, relative to the checkout
    line: int = 0
    span: tuple[int, ...] = ()  # for EXCEPTION, the failing expression: line, column, end line and end column
    missing: str = ""  # for MISSING_SYMBOL, the dotted name: shop.points.earn, or shop.points for a module

    @property
    def signature(self) -> str:
        """The parts of a failure that must be the same in a second run."""
        return f"{self.stage}:{self.kind}:{self.exception}:{self.missing}"


class TestResult(Record):
    __test__ = False
    id: str  # pytest node id, relative to the checkout
    outcome: Outcome
    failure: Failure | None = None
    seconds: float = 0


class RunReport(Record):
    """The observations of one clean run. Canaries have already been checked and removed."""

    code_tree: str
    command: tuple[str, ...]
    tools: dict[str, str]  # versions of Python, pytest and its plugins
    order: Literal["normal", "reversed"] = "normal"
    hash_seed: int = 0
    results: tuple[TestResult, ...] = ()
    collect_errors: tuple[Failure, ...] = ()
    exit_status: int | None = None  # None if the process was killed
    seconds: float = 0
    sandbox: str = "none"
    problems: tuple[str, ...] = ()  # why the run is not honest; empty if it is
    canary_dirs: tuple[str, ...] = ()  # directories with canaries, relative to the checkout

    @property
    def honest(self) -> bool:
        return not self.problems

    def by_id(self) -> dict[str, TestResult]:
        return {result.id: result for result in self.results}


class RunSummary(Record):
    """The saved form of a run: all story tests, the other tests that did not pass, and a digest of all ids."""

    collected: int
    passed: int
    failed: int
    errors: int
    skipped: int
    seconds: float
    exit_status: int | None
    sandbox: str
    honest: bool
    problems: tuple[str, ...] = ()
    tools: dict[str, str] = Field(default_factory=dict)
    story: tuple[TestResult, ...] = ()
    others_not_passed: tuple[TestResult, ...] = ()
    collect_errors: tuple[Failure, ...] = ()
    ids_digest: str = ""


# --- what changed -----------------------------------------------------------------------------------------------------


class PathKind(StrEnum):
    TEST = "test"  # everything under a test root: test modules, conftest, fixtures, golden files
    SOURCE = "source"
    TEST_CONFIG = "test_config"  # files that configure test runs: pyproject.toml, pytest.ini, tox.ini …
    MANIFEST = "manifest"  # dependency manifests and lock files
    CI = "ci"  # .github/, Makefile, .gitlab-ci.yml …
    DOCS = "docs"
    STATE = "state"  # .orch-state/
    PROTECTED = "protected"  # settings of agents, installers, editors and git, CODEOWNERS, hooks, `paths.protected`
    OTHER = "other"


class Change(Record):
    path: str
    status: Literal["added", "modified", "deleted", "type_changed", "mode_changed"]
    kind: PathKind
    old_blob: str = ""
    new_blob: str = ""
    old_mode: str = ""
    new_mode: str = ""  # 120000 for a symlink, 160000 for a submodule


class LockedFile(Record):
    """A file that GREEN and REFACTOR must not change after RED. `actual` is empty if it was deleted."""

    path: str
    expected: str
    actual: str
    detail: str = ""  # for people, as in: line 14 `== 90` became `>= 0`


class Fact(Record):
    """An observation in the AST of a file, with the code of the finding that it leads to."""

    code: str  # such as RED301
    path: str
    line: int = 0
    test: str = ""  # node id without parameters, if the fact is about one test
    message: str = ""


class Comparison(Record):
    """The differences between the base run and the head run."""

    collected_before: int = 0
    collected_after: int = 0
    regressed: tuple[str, ...] = ()  # tests that passed at base but not at head
    vanished: tuple[str, ...] = ()  # tests that passed at base and were not collected or skipped at head
    appeared: tuple[str, ...] = ()  # tests collected only at head
    unsteady: tuple[str, ...] = ()  # flaky tests: when repeated, they passed at head and failed at base


class Coverage(Record):
    """The new tests that name a criterion of the story."""

    criterion: str
    tests: tuple[str, ...] = ()


class Signature(Record):
    name: str  # dotted name of a public function or class
    text: str  # as in (a, b=1, *, c)
    path: str = ""


class HiddenExamplesEvidence(Record):
    """The hidden examples of a story.

    The builder does not see them, so RED's observations about them are stored only here.
    """

    files: tuple[HiddenExampleFile, ...] = ()  # empty if examples were requested but none were given
    tests: tuple[str, ...] = ()
    criteria: tuple[Coverage, ...] = ()
    results: tuple[TestResult, ...] = ()
    repeated: tuple[TestResult, ...] = ()  # RED: results of the second run
    collect_errors: tuple[Failure, ...] = ()
    declared: tuple[str, ...] = ()
    uncollected: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    subject_lines: dict[str, tuple[int, ...]] = Field(default_factory=dict)
    dropped: tuple[DroppedExample, ...] = ()  # as recorded; a judge's ruling cannot be proved again

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(file.path for file in self.files)


class StackFacts(Record):
    """How a language other than Python was checked, and which kinds of checks do not exist for it yet."""

    language: str
    runner: str
    root: str = "."
    not_checked: tuple[str, ...] = ()  # layers, named as in `languages.capabilities`


class OtherSuite(Record):
    """The tests of another stack of the repository, before and after the story."""

    stack: str
    not_run: str = ""  # why they could not run on this machine; if set, all other fields are empty
    comparison: Comparison = Comparison()
    base_run: RunSummary | None = None
    head_run: RunSummary | None = None


class PageScreenshot(Record):
    path: str  # the page's path, such as /checkout
    file: str
    digest: str  # sha256 of the file


class SmokeRun(Record):
    """One run of the built program."""

    command: tuple[str, ...]
    exit_status: int | None = None  # None if it did not run to its end
    output: str = ""  # shortened
    problem: str = ""  # why it could not be run to its end

    @property
    def summary(self) -> str:
        program = f"`{clip(clean_line(' '.join(self.command)), 100)}`"
        return f"{program}: {self.problem}" if self.problem else f"{program} exited with status {self.exit_status}"


class ChangedTest(Record):
    """An existing test, which passed before, that RED changed or removed."""

    test: str  # id without parameters
    requirement: str = ""  # for which it is declared; empty if it is not, or only for one of another story
    removal_declared: bool = False
    removed: bool = False
    checks_before: int = 0  # how strictly it compares: 2 for each expected value or error, 1 for each part
    checks_after: int = 0
    on_new_code: Outcome | None = None  # GREEN: outcome of the old version; None if it cannot be collected
    lost: tuple[MutantResult, ...] = ()  # GREEN: mutants that the old tests detected and that no test detects now
    detected: int | None = None  # GREEN: how many mutants the old tests detected; None if not counted here
    not_compared: str = ""  # GREEN: why mutation testing of the old or the new tests failed


class Evidence(Document):
    """The evidence of one step, stored as `tdd/evidence/<story>/<n>-<phase>.json`."""

    phase: Phase
    prd: str = ""
    story: str = ""
    kind: str = ""  # the story's kind according to the plan; empty if no story is known
    step: int = 0
    made_by: str = ""  # the version of prd2pr that gathered the evidence
    base_tree: str = ""  # a code tree: the commit's tree without .orch-state/
    head_tree: str = ""
    changes: tuple[Change, ...] = ()
    locked: tuple[LockedFile, ...] = ()
    declared: tuple[str, ...] = ()  # test functions in changed test files, as node ids without parameters
    uncollected: tuple[str, ...] = ()  # those that the head run did not collect
    story_tests: tuple[str, ...] = ()  # node ids that this gate judges
    facts: tuple[Fact, ...] = ()
    planned: tuple[PlannedSymbol, ...] | None = None  # None if no design is known (a person's commits)
    coverage: tuple[Coverage, ...] | None = None  # None if no criteria are known
    project_modules: tuple[str, ...] = ()  # importable top-level names of the project at head, such as shop
    project_names: tuple[str, ...] = ()  # modules, with the public names of those that lack a symbol
    flat_layout: bool = False  # modules are at the root or there is no source yet, so a new one may have any name
    called: tuple[str, ...] | None = None  # dotted names that the story's tests call; None if not checked
    subject_lines: dict[str, tuple[int, ...]] = Field(
        default_factory=dict
    )  # by test file: the lines that use the subject
    comparison: Comparison | None = None
    base_run: RunSummary | None = None
    head_run: RunSummary | None = None
    repeat_run: RunSummary | None = None
    signatures_before: tuple[Signature, ...] = ()
    signatures_after: tuple[Signature, ...] = ()
    improvement: dict[str, Any] = Field(default_factory=dict)  # REFACTOR: measures before and after
    note: str = ""  # such as "nothing worth changing" or "kind docs: no tests asked for"
    decision: Decision | None = None  # NOTE: what was decided, and by whom
    pre_implemented: bool = False  # GREEN without RED, since the code existed before the new tests
    bite: MutationResult | None = None  # mutation testing of the story's tests; None if not done
    bite_before: MutationResult | None = None  # REFACTOR: mutation testing of the code before
    parity: DifferentialResult | None = None  # REFACTOR: old code compared with new; None if not done
    removal: Removal | None = None  # REFACTOR: removed dead code and its tests
    living_docs: dict[str, str] = Field(default_factory=dict)  # INTEGRATED: blob by path; "" if removed
    docs_made_by: str = ""  # the version that wrote the docs, if this one cannot render them identically
    held_out: HiddenExamplesEvidence | None = None  # RED and GREEN; None if not checked
    pages: tuple[PageScreenshot, ...] = ()  # INTEGRATED: screenshots in the same commit, which no gate judges
    line_coverage: LineCoverage | None = None  # INTEGRATED: not judged either; None if not measured
    changed_tests: tuple[ChangedTest, ...] = ()  # RED and GREEN
    smoke: SmokeRun | None = None  # INTEGRATED: not judged either; None if no program is configured
    stack: StackFacts | None = None  # None for Python
    beside: tuple[OtherSuite, ...] = ()  # INTEGRATED: suites of the other stacks


# --- the verdict ------------------------------------------------------------------------------------------------------

Severity = Literal["error", "warning", "off"]
RULE_CRASHED = "RUN111"


class Finding(Record):
    code: str
    severity: Literal["error", "warning"]
    message: str
    path: str = ""
    line: int = 0
    test: str = ""


class Verdict(Record):
    phase: Phase
    accepted: bool
    findings: tuple[Finding, ...] = ()

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.severity == "error")

    @property
    def undecided(self) -> bool:
        """Whether only crashed rules keep the gate from accepting: the step is neither accepted nor refused."""
        return bool(self.errors) and all(each.code == RULE_CRASHED for each in self.errors)


class Proof(Document):
    """The content of an evidence file: the evidence and its verdict."""

    sparse: ClassVar[bool] = True
    evidence: Evidence
    verdict: Verdict
