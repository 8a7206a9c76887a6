"""The records in `.orch-state/`: frozen, with a schema version.

A `Document` is one JSON file. Times are UTC in ISO 8601 format, ending in `Z`. Unknown keys are errors, since only the
bot writes these files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from enum import StrEnum
from itertools import groupby
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

SCHEMA_VERSION = 1


def _check_timestamp(text: str) -> str:
    datetime.fromisoformat(text)
    return text


# A time used in computations, not only shown.
UtcTimestamp = Annotated[
    str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"), AfterValidator(_check_timestamp)
]

MutantCount = Annotated[int, Field(ge=0, le=100_000)]


class Record(BaseModel):
    # Infinity and NaN are not valid JSON, so a file that contains them is damaged.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, allow_inf_nan=False)


class Document(Record):
    schema_version: int = SCHEMA_VERSION
    plain_fields: ClassVar[bool] = False  # True for documents without floats and mappings, which are encoded faster
    item_lines: ClassVar[bool] = False  # True for documents with objects that change one by one: one on each line
    sparse: ClassVar[bool] = False  # True for documents that are stored without fields that have their default value


def _group_by_file(tests: Iterable[str]) -> list[str | list[str]]:
    found: list[str | list[str]] = []
    for path, group in groupby(tests, lambda test: test[: max(test.find("::"), 0)]):
        own = list(group)
        names = [test[len(path) + 2 :] for test in own]
        if not path or any(name.startswith("[") for name in names):
            found += own
        else:
            before = ("[", *(name.partition("[")[0] for name in names))
            cut = (last if name.startswith(f"{last}[") else "" for last, name in zip(before, names, strict=False))
            found.append([path, *map(str.removeprefix, names, cut)])
    return found


def _ungroup_by_file(stored: Any) -> Any:
    if not isinstance(stored, list) or all(isinstance(each, str) for each in stored):
        return stored  # as versions before 0.3 stored them, or something that is refused
    return tuple(test for each in stored for test in _restore_ids(each))


def _restore_ids(group: Any) -> Iterator[Any]:
    if not isinstance(group, list) or not group or not all(isinstance(each, str) for each in group):
        yield group  # an id without a file, or something that is refused
        return
    last = ""
    for name in group[1:]:
        last = name.partition("[")[0] or last
        yield f"{group[0]}::{last if name.startswith('[') else ''}{name}"


# The name of a file, and of a test with several cases, is stored once: [["tests/test_a.py", "test_1[x]", "[y]"]].
TestIds = Annotated[
    tuple[str, ...], BeforeValidator(_ungroup_by_file), PlainSerializer(_group_by_file, when_used="json")
]


# --- the plan ---------------------------------------------------------------------------------------------------------

StoryKind = Literal["feature", "bug", "refactor", "docs", "config", "chore"]
StoryStatus = Literal["backlog", "sprint", "in_progress", "done", "blocked", "skipped"]

SETTLED: tuple[StoryStatus, ...] = ("done", "skipped")  # need no further work

# Kinds that pass without RED, since a unit test could not prove anything. This is shown to people.
UNTESTED_KINDS: frozenset[str] = frozenset({"docs", "config", "chore"})
NO_TESTS_REQUIRED = "no tests asked for"  # stored in the notes of such stories, so it must not change


def format_untested_note(kind: str) -> str:
    return f"kind {kind}: {NO_TESTS_REQUIRED}"


class Criterion(Record):
    id: str
    text: str
    example: str = ""
    requirements: tuple[str, ...] = ()  # ids of the requirements that it checks


class DeclaredTestChange(Record):
    """An existing test that contradicts a requirement."""

    test: str = Field(description="tests/test_fee.py::test_fee")
    requirement: str = Field(description="Its id.")
    removed: bool = Field(default=False, description="The behavior goes, and the test with it.")


class Epic(Record):
    id: str
    title: str
    description: str = ""
    status: Literal["active", "completed", "archived"] = "active"
    requirements: tuple[str, ...] = ()


class Story(Record):
    id: str
    epic: str
    title: str
    description: str = ""
    kind: StoryKind = "feature"
    criteria: tuple[Criterion, ...] = ()
    priority: int = Field(3, ge=1, le=5)
    depends_on: tuple[str, ...] = ()
    estimate_minutes: int = Field(10, ge=0)
    complexity: int = Field(3, ge=1, le=10)
    requirements: tuple[str, ...] = ()
    status: StoryStatus = "backlog"
    module: str = ""
    interface: str = ""
    test_paths: tuple[str, ...] = ()
    source_paths: tuple[str, ...] = ()
    done_criteria: tuple[str, ...] = ()
    issue: int | None = None
    test_ideas: tuple[str, ...] = ()
    verify_only: bool = False  # the code is there, or another story builds it; this one only adds tests
    guessed_minutes: float | None = None  # the estimate before the learned factor; None without a factor


class ClassifiedRequirement(Record):
    """A requirement that the plan does not build, or that needs an answer first, with the reason."""

    id: str = Field(description="Id of the requirement.")
    status: Literal["met", "contradictory", "not_testable", "not_a_requirement"] = Field(description="Its class.")
    note: str = Field(description="met: file and function. contradictory: what contradicts what. Otherwise why.")


class AnsweredQuestion(Record):
    """A question of the plan that a person answered."""

    number: int
    question: str
    answer: str
    by: str
    at: str
    decided: tuple[str, ...] = ()  # ids of the requirements that the answer decides


class Backlog(Document):
    """The backlog of a PRD, stored as `backlog.json`. `stories` are in working order."""

    plain_fields: ClassVar[bool] = True
    item_lines: ClassVar[bool] = True
    epics: tuple[Epic, ...] = ()
    stories: tuple[Story, ...] = ()
    questions: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    dropping: tuple[str, ...] = ()  # stories of removed requirements, which approving the plan skips
    not_covered: tuple[str, ...] = ()  # requirements without a story, with a question about each
    classified: tuple[ClassifiedRequirement, ...] = ()
    answers: tuple[AnsweredQuestion, ...] = ()
    reopened: tuple[str, ...] = ()  # requirements that the next plan decides again, because of an answer


class Requirement(Record):
    id: str
    text: str
    kind: Literal["functional", "non_functional", "acceptance"] = "functional"
    line: int = 0
    parent: str = ""


class PlannedCycle(Record):
    """A cycle of the PRD's own implementation plan."""

    id: str
    title: str
    phase: str = ""
    requirements: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    details: tuple[str, ...] = ()


class Prd(Document):
    """The parsed PRD, stored as `prd.json` and pinned to the blob from which it was read."""

    id: str
    title: str
    path: str
    blob: str = ""
    summary: str = ""
    requirements: tuple[Requirement, ...] = ()
    cycles: tuple[PlannedCycle, ...] = ()
    modules: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    text: str = ""


# --- the project ------------------------------------------------------------------------------------------------------


class ProjectState(StrEnum):
    IDLE = "IDLE"
    BACKLOG_READY = "BACKLOG_READY"
    SPRINT_PLANNED = "SPRINT_PLANNED"
    SPRINT_ACTIVE = "SPRINT_ACTIVE"
    SPRINT_PAUSED = "SPRINT_PAUSED"
    SPRINT_REVIEW = "SPRINT_REVIEW"
    BLOCKED = "BLOCKED"


class Transition(Record):
    at: str
    by: str
    command: str
    before: str
    after: str
    why: str = ""


class Spend(Record):
    """Tokens and cost. `usd` is None if a model's price is unknown."""

    calls: int = Field(default=0, ge=0)
    input_tokens: int = Field(default=0, ge=0)
    cached_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    usd: float | None = Field(default=0.0, ge=0, allow_inf_nan=False)

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.cached_tokens + self.output_tokens

    def __add__(self, other: Spend) -> Spend:
        unpriced = self.usd is None or other.usd is None
        return Spend(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            usd=None if unpriced else round((self.usd or 0) + (other.usd or 0), 6),
        )


class Cursor(Record):
    """The position up to which the comments, or the reviews, of one issue or pull request have been processed."""

    number: int
    kind: Literal["comment", "review"] = "comment"  # reviews have ids of their own
    comment: int  # the last comment that was processed, possibly only in part
    commands: int | None = None  # the number of its commands that are done; None for all


class ExecutedOrder(Record):
    """A command given to the App's server, recorded so that it is executed only once. `at` is when it was given."""

    id: str
    at: UtcTimestamp


class Approval(Record):
    """A person's approval to spend money. It is valid for the plan at `head`, not for later changes."""

    by: str
    at: str
    head: str
    stories: tuple[str, ...] = ()  # empty for all
    plan: str = ""  # digest of the approved PRD and stories; a changed plan needs a new approval


class Status(Document):
    """The state of one PRD's project machine, stored as `status.json`."""

    state: ProjectState = ProjectState.IDLE
    sprint: str | None = None
    transitions: tuple[Transition, ...] = ()  # the last 20
    blocked_reason: str = ""
    advice: str = ""  # from /suggest_fix, used for the next attempts until the phase passes
    advice_story: str = ""  # the story that the advice is for; empty for the next one
    order: Literal["", "run"] = ""  # the pending `/tdd run`: continue until done, blocked or out of budget
    order_story: str = ""  # the story that this `/tdd run` names
    halted: bool = False  # set by /tdd halt_all, which stops all work until /tdd resume
    cursors: tuple[Cursor, ...] = ()
    orders: tuple[ExecutedOrder, ...] = ()  # kept for as long as the server could deliver one again
    approvals: tuple[Approval, ...] = ()
    issue: int | None = None  # the issue that contains or requested the PRD
    tracking: int | None = None  # the tracking issue of the PRD


class Retrospective(Record):
    """The text of /feedback, split into its parts if it names them."""

    by: str
    at: str
    text: str
    went_well: tuple[str, ...] = ()
    improve: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()


class SprintMetrics(Record):
    done: int = 0
    skipped: int = 0
    steps: int = 0
    attempts: int = 0
    refused: int = 0
    seconds: float = 0
    spend: Spend = Spend()


class Sprint(Document):
    id: str
    goal: str
    stories: tuple[str, ...]
    status: Literal["planned", "active", "paused", "completed"] = "planned"
    started_at: str | None = None
    ended_at: str | None = None
    retrospective: Retrospective | None = None
    metrics: SprintMetrics | None = None
    chosen: bool = False  # a person chose the stories, so the sprint ends with its own review


class Project(Document):
    """The project's settings when it was planned, stored as `project.json`."""

    language: str = "python"
    runner: str = "pytest"
    base_branch: str = ""
    base_commit: str = ""
    strategy: Literal["strict", "fused", "conversation"] = "strict"


# --- the cycle of one story -------------------------------------------------------------------------------------------


class CycleState(StrEnum):
    DESIGN = "DESIGN"
    TEST_RED = "TEST_RED"
    CODE_GREEN = "CODE_GREEN"
    REFACTOR = "REFACTOR"
    COMMIT = "COMMIT"  # integrated, so the story is done
    ABORTED = "ABORTED"


class Phase(StrEnum):
    """The kinds of commit, with the values of the `Tdd-Phase` trailer."""

    PLAN = "plan"
    DESIGN = "design"
    RED = "red"
    GREEN = "green"
    REFACTOR = "refactor"
    INTEGRATED = "integrated"
    NOTE = "note"  # a decision without code, such as blocked, skipped or aborted


# The following texts are stored in the notes of steps, so they must not change.
DESIGN_SKIPPED = "design: left out"  # start of a note
# Notes of an INTEGRATED step whose refactoring made no commit.
NOTHING_TO_REFACTOR = "refactor: nothing worth changing"
PLAIN_BY_MEASURE = f"{NOTHING_TO_REFACTOR} by measure"  # decided without a model
REFACTORING_SKIPPED = "refactor: left out"  # start of a note about a person's decision
REFACTORING_DROPPED = "refactor: refused, so the code stays as GREEN proved it"
NO_REFACTORING = (NOTHING_TO_REFACTOR, REFACTORING_SKIPPED, REFACTORING_DROPPED)  # starts of such notes
ABOUT_REFACTORING = "refactor: "


# The note of a GREEN step without RED.
ALREADY_BUILT = "built before: the new tests pass without any change of code, so RED is not claimed"


class PlannedSymbol(Record):
    """A symbol that the design announces: RED may fail because it does not exist yet."""

    name: str  # dotted, from an importable module: shop.points.earn
    signature: str = ""

    @property
    def declaration(self) -> str:
        """Return `shop.points.earn(cart: Cart) -> int` or `shop.points.LIMIT: int`."""
        joint = ": " if self.signature and not self.signature.startswith("(") else ""
        return f"{self.name}{joint}{self.signature}"


class Design(Record):
    summary: str
    symbols: tuple[PlannedSymbol, ...] = ()
    source_paths: tuple[str, ...] = ()
    test_paths: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    entry_point: str = ""  # how a user of the program reaches the story's code; empty for a library
    imports: tuple[str, ...] = ()  # as in: src/shop/cart.py: shop.points


class RefusedAttempt(Record):
    phase: Phase
    attempt: int
    codes: tuple[str, ...]
    summary: str
    tests: TestIds = ()  # the tests that it was refused for, without hidden examples


class RefusedWriteRecord(Record):
    """A write by a role that its phase does not allow. The file was not changed."""

    phase: Phase
    attempt: int
    path: str
    code: str
    message: str = ""


class StepWarning(Record):
    code: str
    message: str
    path: str = ""
    line: int = 0
    test: str = ""


class Step(Record):
    """One passed phase.

    A commit cannot contain its own SHA, so the trailer `Tdd-Step` identifies the commit of a step.
    """

    n: int
    phase: Phase
    at: str
    code_tree: str
    evidence: str  # sha256 of the evidence, uncompressed
    # The stored evidence, which later steps remove from the tree; empty before 0.3.
    evidence_blob: Annotated[str, Field(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})?$")] = ""
    attempts: int = 1
    seconds: float = 0
    spend: Spend = Spend()
    note: str = ""
    people: tuple[str, ...] = ()  # authors of commits that this step proves together with its own
    draft: bool = False  # for a note with work that no gate has judged
    undoes: int = 0  # for a note: the number of the step that it undoes
    mutants: tuple[MutantCount, MutantCount] | None = None  # killed and judged, shown after a squash
    warnings: tuple[StepWarning, ...] = ()  # of the gate that accepted it, shown after a squash


class LineCoverage(Record):
    """How many statements the tests execute when a story is integrated. No gate judges it."""

    tool: str  # as in: coverage 7.17.3
    statements: int
    executed: int
    story_statements: int = 0  # those in lines that the story added or changed
    story_executed: int = 0

    @property
    def share(self) -> str:
        return f"{1000 * self.executed // self.statements / 10}%" if self.statements else "none"

    @property
    def own(self) -> str:
        """Return the executed statements of the story's own lines as `24 of 24`; empty if it has none."""
        return f"{self.story_executed} of {self.story_statements}" if self.story_statements else ""


TestFileStatus = Literal["draft", "committed", "passing", "integrated"]


class TestFile(Record):
    __test__ = False
    path: str
    blob: str
    status: TestFileStatus = "draft"
    promoted_to: str = ""


class HiddenExampleFile(Record):
    path: str  # the path when GREEN is judged
    blob: str


class DroppedExample(Record):
    """A hidden example that does not judge the code, and why."""

    name: str
    criterion: str
    why: Literal["invalid", "wrong", "unclear"]  # found by code, or ruled by the judge
    reason: str
    quote: str = ""  # the words of the requirement that show that it is wrong
    question: str = ""  # what a person must answer, if the requirement is unclear


class HiddenExamples(Record):
    """Examples that the builder does not see. Until GREEN is judged, they are stored in `.orch-state/`."""

    files: tuple[HiddenExampleFile, ...] = ()
    tests: TestIds = ()
    dropped: tuple[DroppedExample, ...] = ()


class Cycle(Document):
    """The cycle of one story, stored as `tdd/cycles/<story>.json`."""

    item_lines: ClassVar[bool] = True
    sparse: ClassVar[bool] = True
    story: str
    state: CycleState = CycleState.DESIGN
    steps: tuple[Step, ...] = ()
    refused: tuple[RefusedAttempt, ...] = ()
    refused_writes: tuple[RefusedWriteRecord, ...] = ()
    design: Design | None = None
    test_files: tuple[TestFile, ...] = ()
    tests: TestIds = ()  # ids of the tests proved RED, updated when they move at integration
    changed_tests: tuple[DeclaredTestChange, ...] = ()  # existing tests that RED changed
    coverage: dict[str, TestIds] = {}  # tests by the criterion that they name, for the living docs after a squash
    held_out: HiddenExamples | None = None  # no files if none were given; None if not requested
    line_coverage: LineCoverage | None = None  # at integration; None if it was not measured
    blocked: str = ""
    paused: bool = False
    pre_implemented: bool = False


class RoleSpend(Record):
    role: str
    spend: Spend = Spend()


UNFINISHED_OUTCOMES = ("planned", " passed", " integrated")  # endings of outcomes after which a run usually continues
RUN_DONE = "done: every story is finished"  # the outcome of a run after which nothing is left
REPLAY_OF = "replay of "  # start of the name of a model that replays a recording


class RunRecord(Document):
    """One invocation, stored as `runs/<run-id>.json` for `status` and `logs`."""

    sparse: ClassVar[bool] = True
    id: str
    started_at: str
    ended_at: str = ""
    model: str = ""
    steps: tuple[str, ...] = ()
    outcome: str = ""
    spend: Spend = Spend()
    roles: tuple[RoleSpend, ...] = ()  # the same spending by role

    @property
    def replayed(self) -> bool:
        return self.model.startswith(REPLAY_OF)
