"""Evidence: the bot's own observations as plain data, and the verdict of a gate. Gates read evidence and nothing else.

It is gathered (checkouts, test runs, diffs) in `verification/gather/` and judged in `verification/gates/`. It is saved
with the commit that it proves and can be judged again at any time.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from prd2pr.domain.decision import Decision
from prd2pr.domain.records import Document, HiddenExampleFile, Phase, PlannedSymbol, Record
from prd2pr.domain.results.differential import DifferentialResult
from prd2pr.domain.results.mutation import MutationResult
from prd2pr.domain.results.removal import Removal

# --- one test run -----------------------------------------------------------------------------------------------------

Outcome = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed"]


class FailureKind(StrEnum):
    ASSERTION = "assertion"
    MISSING_SYMBOL = "missing_symbol"  # a module, name or attribute does not exist
    NOT_IMPLEMENTED = "not_implemented"  # NotImplementedError raised by the subject
    SYNTAX = "syntax"
    FIXTURE = "fixture"  # set-up or tear-down failed, or a fixture does not exist
    IMPORT = "import"  # an import failed, but not for a missing name of the project
    EXIT = "exit"  # SystemExit, KeyboardInterrupt, pytest.exit
    TIMEOUT = "timeout"
    COLLECTION = "collection"
    EXPLICIT = "explicit"  # pytest.fail()
    EXCEPTION = "exception"  # any other exception in the call phase


class Failure(Record):
    kind: FailureKind
    stage: Literal["collect", "setup", "call", "teardown"]
    exception: str = ""  # type name: AssertionError, ImportError …
    message: str = ""  # trimmed, without paths of this machine
    path: str = ""  # where it was raised, relative to the checkout
    line: int = 0
    span: tuple[int, ...] = ()  # of an EXCEPTION, the expression there: line, column, last line and its column
    missing: str = ""  # for MISSING_SYMBOL, dotted: shop.points.earn, or shop.points for a module

    @property
    def signature(self) -> str:
        """Return the parts that must be equal in a second run."""
        return f"{self.stage}:{self.kind}:{self.exception}:{self.missing}"


class TestResult(Record):
    __test__ = False
    id: str  # pytest node id, relative to the checkout
    outcome: Outcome
    failure: Failure | None = None
    seconds: float = 0


class RunReport(Record):
    """The observations of one clean run. Canaries are checked and removed before."""

    code_tree: str
    command: tuple[str, ...]
    tools: dict[str, str]  # python, pytest, plugins enabled
    order: Literal["normal", "reversed"] = "normal"
    hash_seed: int = 0
    results: tuple[TestResult, ...] = ()
    collect_errors: tuple[Failure, ...] = ()
    exit_status: int | None = None  # None: killed
    seconds: float = 0
    sandbox: str = "none"
    problems: tuple[str, ...] = ()  # why the run is not honest; empty: it is
    canary_dirs: tuple[str, ...] = ()  # directories of the canaries, relative to the checkout; "." is its root

    @property
    def honest(self) -> bool:
        return not self.problems

    def by_id(self) -> dict[str, TestResult]:
        return {result.id: result for result in self.results}


class RunSummary(Record):
    """A run as it is saved: all story tests, the other tests that did not pass, and a digest of all ids."""

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
    TEST = "test"  # test modules, conftest, fixtures, golden files: everything under a test root
    SOURCE = "source"
    TEST_CONFIG = "test_config"  # pyproject.toml, pytest.ini, tox.ini, setup.cfg, noxfile.py …: how tests are run
    MANIFEST = "manifest"  # dependency manifests and lock files
    CI = "ci"  # .github/, Makefile, .gitlab-ci.yml …
    DOCS = "docs"
    STATE = "state"  # .orch-state/
    PROTECTED = "protected"  # agent instructions, .prd2pr.yml, .gitattributes, .gitmodules, hooks, policy's list
    OTHER = "other"


class Change(Record):
    path: str
    status: Literal["added", "modified", "deleted", "type_changed", "mode_changed"]
    kind: PathKind
    old_blob: str = ""
    new_blob: str = ""
    old_mode: str = ""
    new_mode: str = ""  # 120000 symlink, 160000 submodule


class LockedFile(Record):
    """A file that GREEN and REFACTOR must not change after RED. `actual` is empty if it was deleted."""

    path: str
    expected: str
    actual: str
    detail: str = ""  # for people: line 14 `== 90` became `>= 0`


class Fact(Record):
    """An observation in the AST of a file, with the code of the finding that it will become."""

    code: str  # RED301 …
    path: str
    line: int = 0
    test: str = ""  # node id without parameters, if it concerns one test
    message: str = ""


class Comparison(Record):
    """The differences between base run and head run."""

    collected_before: int = 0
    collected_after: int = 0
    regressed: tuple[str, ...] = ()  # passed at base, ran at head and did not pass
    vanished: tuple[str, ...] = ()  # passed at base, not collected or skipped at head
    appeared: tuple[str, ...] = ()  # collected at head only
    unsteady: tuple[str, ...] = ()  # flaky: passed at base and failed at head, and the other way round when repeated


class Coverage(Record):
    """Which new tests name which criterion of the story."""

    criterion: str
    tests: tuple[str, ...] = ()


class Signature(Record):
    name: str  # dotted, public
    text: str  # (a, b=1, *, c)
    path: str = ""


class HiddenExamplesEvidence(Record):
    """Examples that the programmer does not see. Everything about them in RED is stored here only."""

    files: tuple[HiddenExampleFile, ...] = ()  # none: requested, but none were given
    tests: tuple[str, ...] = ()
    criteria: tuple[Coverage, ...] = ()
    results: tuple[TestResult, ...] = ()
    repeated: tuple[TestResult, ...] = ()  # RED: of the second run
    collect_errors: tuple[Failure, ...] = ()
    declared: tuple[str, ...] = ()
    uncollected: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    subject_lines: dict[str, tuple[int, ...]] = Field(default_factory=dict)

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(file.path for file in self.files)


class StackFacts(Record):
    """A language other than Python: how it was checked, and which layers are not checked yet."""

    language: str
    runner: str
    root: str = "."
    not_checked: tuple[str, ...] = ()  # layers, by their names in `languages.capabilities`


class OtherSuite(Record):
    """The tests of another stack of the repository, before the story and now."""

    stack: str
    not_run: str = ""  # why they could not be run on this machine; then all other fields are empty
    comparison: Comparison = Comparison()
    base_run: RunSummary | None = None
    head_run: RunSummary | None = None


class PageScreenshot(Record):
    path: str  # of the page: /checkout
    file: str
    digest: str  # sha256 of the file


class Evidence(Document):
    """tdd/evidence/<story>/<n>-<phase>.json"""

    phase: Phase
    prd: str = ""
    story: str = ""
    kind: str = ""  # of the story, from the plan; empty: no story is known
    step: int = 0
    made_by: str = ""  # the version of prd2pr that gathered it
    base_tree: str = ""  # code trees: commit trees without .orch-state/
    head_tree: str = ""
    changes: tuple[Change, ...] = ()
    locked: tuple[LockedFile, ...] = ()
    declared: tuple[str, ...] = ()  # test functions that changed test files declare, as node ids without parameters
    uncollected: tuple[str, ...] = ()  # of these, the ones that the head run did not collect
    story_tests: tuple[str, ...] = ()  # node ids that this gate judges
    facts: tuple[Fact, ...] = ()
    planned: tuple[PlannedSymbol, ...] | None = None  # None: no design is known (a person's commits)
    coverage: tuple[Coverage, ...] | None = None  # None: no criteria are known
    project_modules: tuple[str, ...] = ()  # importable top-level names of the project at head: shop
    project_names: tuple[str, ...] = ()  # its modules, and the public names of those that a missing symbol points into
    flat_layout: bool = False  # modules are at the root, or there is no source yet: a new one may have any name
    called: tuple[str, ...] | None = None  # dotted names that the story's tests call; None: not checked
    subject_lines: dict[str, tuple[int, ...]] = Field(
        default_factory=dict
    )  # test file -> lines that work on the subject
    comparison: Comparison | None = None
    base_run: RunSummary | None = None
    head_run: RunSummary | None = None
    repeat_run: RunSummary | None = None
    signatures_before: tuple[Signature, ...] = ()
    signatures_after: tuple[Signature, ...] = ()
    improvement: dict[str, Any] = Field(default_factory=dict)  # REFACTOR: measures before and after
    note: str = ""  # "nothing worth changing", "pre_implemented", "kind docs: no tests asked for"
    decision: Decision | None = None  # NOTE: what was decided, and by whom
    pre_implemented: bool = False  # GREEN without RED: the tests are new and the code existed before
    bite: MutationResult | None = None  # mutation testing of the story's tests; None: not checked
    bite_before: MutationResult | None = None  # REFACTOR: the same for the code before
    parity: DifferentialResult | None = None  # REFACTOR: old code compared with new; None: not checked
    removal: Removal | None = None  # REFACTOR: removed dead code and its tests
    living_docs: dict[str, str] = Field(default_factory=dict)  # INTEGRATED: path -> blob, as they are rendered
    docs_made_by: str = ""  # another version of prd2pr that wrote them: this one cannot render them identically
    held_out: HiddenExamplesEvidence | None = None  # RED and GREEN; None: not checked
    pages: tuple[PageScreenshot, ...] = ()  # INTEGRATED: screenshots in the same commit; shown, not judged
    stack: StackFacts | None = None  # None: Python
    beside: tuple[OtherSuite, ...] = ()  # INTEGRATED: the suites of the other stacks


# --- the verdict ------------------------------------------------------------------------------------------------------

Severity = Literal["error", "warning", "off"]


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


class Proof(Document):
    """The content of an evidence file: the evidence and the verdict on it."""

    evidence: Evidence
    verdict: Verdict
