"""What is kept in `.orch-state/`: frozen records with a schema version.

A `Document` is one JSON file. Times are UTC, in ISO 8601 with a `Z`. Unknown keys are errors: only the bot writes here.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

SCHEMA_VERSION = 1


def _is_moment(text: str) -> str:
    datetime.fromisoformat(text)
    return text


# One that is reckoned with, not only shown.
Moment = Annotated[
    str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"), AfterValidator(_is_moment)
]


class Record(BaseModel):
    # Numbers without end cannot be written again as JSON, so they are not read either: the file is damaged.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, allow_inf_nan=False)


class Document(Record):
    schema_version: int = SCHEMA_VERSION
    # Neither floats nor mappings in it: written field by field it is the same every time, and ten times as fast.
    plain_fields: ClassVar[bool] = False


# --- the plan ---------------------------------------------------------------------------------------------------------

StoryKind = Literal["feature", "bug", "refactor", "docs", "config", "chore"]
StoryStatus = Literal["backlog", "sprint", "in_progress", "done", "blocked", "skipped"]

# Nothing is left to do for these.
SETTLED: tuple[StoryStatus, ...] = ("done", "skipped")

# Kinds that pass openly without RED: there is nothing that a unit test could prove.
UNTESTED_KINDS: frozenset[str] = frozenset({"docs", "config", "chore"})


class Criterion(Record):
    id: str
    text: str
    example: str = ""


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
    verify_only: bool = False  # another story is planned to build it: tests are written, no code is expected
    guessed_minutes: float | None = None  # the estimate before the learnt factor; None: no factor was known


class Backlog(Document):
    """backlog.json. `stories` stand in the order in which they are worked on."""

    plain_fields: ClassVar[bool] = True
    epics: tuple[Epic, ...] = ()
    stories: tuple[Story, ...] = ()
    questions: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    dropping: tuple[str, ...] = ()  # stories for what is gone from the PRD: approving the plan skips them
    not_covered: tuple[str, ...] = ()  # requirements without a story; a question names each


class Requirement(Record):
    id: str
    text: str
    kind: Literal["functional", "non_functional", "acceptance"] = "functional"
    line: int = 0
    parent: str = ""


class PlannedCycle(Record):
    """A cycle that the PRD itself lists in its implementation plan."""

    id: str
    title: str
    phase: str = ""
    requirements: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    details: tuple[str, ...] = ()


class Prd(Document):
    """prd.json: the PRD as understood, pinned by the blob that it was read from."""

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
    """Tokens and money. `usd` is None where a model without a known price took part."""

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
    """How far the comments under one issue or pull request have been carried out."""

    number: int
    comment: int  # the last comment that was carried out, or begun
    commands: int | None = None  # of its commands so many are done; None: all of them


class DoneOrder(Record):
    """An order of the App's server that was carried out, whoever brings it again. `at`: when it was given."""

    id: str
    at: Moment


class Approval(Record):
    """A person's word that money may be spent. It holds for the plan at `head`, not for what is pushed later."""

    by: str
    at: str
    head: str
    stories: tuple[str, ...] = ()  # empty: all
    plan: str = ""  # digest of PRD and stories that it was given for; another plan has to be approved again


class Status(Document):
    """status.json: the project machine of one PRD."""

    state: ProjectState = ProjectState.IDLE
    sprint: str | None = None
    transitions: tuple[Transition, ...] = ()  # the last 20
    blocked_reason: str = ""
    advice: str = ""  # /suggest_fix: reaches the next attempts, until the phase is crossed
    advice_story: str = ""  # whom it is for; empty: whichever story comes next
    order: Literal["", "run"] = ""  # `run`: go on until done, blocked or out of budget, in as many runs as it takes
    order_story: str = ""  # the order is about this story alone
    halted: bool = False  # /tdd halt_all: nothing goes on until /tdd resume
    cursors: tuple[Cursor, ...] = ()
    orders: tuple[DoneOrder, ...] = ()  # of the App's server, as far back as one could come again
    approvals: tuple[Approval, ...] = ()
    issue: int | None = None  # the issue that the PRD was made from, or that asked for it
    tracking: int | None = None  # the issue that follows the PRD


class Retrospective(Record):
    """/feedback, taken apart where it says itself what is what."""

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


class Project(Document):
    """project.json"""

    language: str = "python"
    runner: str = "pytest"
    base_branch: str = ""
    base_commit: str = ""
    strategy: Literal["strict", "fused"] = "strict"


# --- the cycle of one story -------------------------------------------------------------------------------------------


class CycleState(StrEnum):
    DESIGN = "DESIGN"
    TEST_RED = "TEST_RED"
    CODE_GREEN = "CODE_GREEN"
    REFACTOR = "REFACTOR"
    COMMIT = "COMMIT"  # integrated: the story is done
    ABORTED = "ABORTED"


class Phase(StrEnum):
    """The kinds of commit, as they stand in the `Tdd-Phase` trailer."""

    PLAN = "plan"
    DESIGN = "design"
    RED = "red"
    GREEN = "green"
    REFACTOR = "refactor"
    INTEGRATED = "integrated"
    NOTE = "note"  # a decision without code: blocked, skipped, aborted


DESIGN_SKIPPED = "design: left out"  # the beginning of a note, like the one of refactoring below
# Notes of an INTEGRATED step whose refactoring made no commit.
NOTHING_TO_REFACTOR = "refactor: nothing worth changing"
PLAIN_BY_MEASURE = f"{NOTHING_TO_REFACTOR} by measure"  # nobody was asked
REFACTORING_SKIPPED = "refactor: left out"  # the beginning of a note: a person decided so
REFACTORING_DROPPED = "refactor: refused, so the code stays as GREEN proved it"
NO_REFACTORING = (NOTHING_TO_REFACTOR, REFACTORING_SKIPPED, REFACTORING_DROPPED)  # how such notes begin
ABOUT_REFACTORING = "refactor: "


# The note of a GREEN step that no RED came before.
ALREADY_BUILT = "built before: the new tests pass without any change of code, so RED is not claimed"


class PlannedSymbol(Record):
    """What the design says will exist: RED may fail because it does not exist yet."""

    name: str  # dotted, from an importable module: shop.points.earn
    signature: str = ""

    @property
    def declared(self) -> str:
        """`shop.points.earn(cart: Cart) -> int`, `shop.points.LIMIT: int`"""
        joint = ": " if self.signature and not self.signature.startswith("(") else ""
        return f"{self.name}{joint}{self.signature}"


class Design(Record):
    summary: str
    symbols: tuple[PlannedSymbol, ...] = ()
    source_paths: tuple[str, ...] = ()
    test_paths: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()


class RefusedAttempt(Record):
    phase: Phase
    attempt: int
    codes: tuple[str, ...]
    summary: str
    tests: tuple[str, ...] = ()  # that it was refused for; of held-out examples none


class RefusedWriteRecord(Record):
    """A role tried to write where its phase may not. The write did not happen."""

    phase: Phase
    attempt: int
    path: str
    code: str
    message: str = ""


class Step(Record):
    """One crossed phase. The commit's own SHA cannot be in the commit; the trailer `Tdd-Step` leads back to it."""

    n: int
    phase: Phase
    at: str
    code_tree: str
    evidence: str  # sha256 of the evidence file
    attempts: int = 1
    seconds: float = 0
    spend: Spend = Spend()
    note: str = ""
    people: tuple[str, ...] = ()  # whose commits this step proves together with its own
    draft: bool = False  # of a note: work is in it that no gate has judged
    undoes: int = 0  # of a note: the step whose work it takes back


TestFileStatus = Literal["draft", "committed", "passing", "integrated"]


class TestFile(Record):
    __test__ = False
    path: str
    blob: str
    status: TestFileStatus = "draft"
    promoted_to: str = ""


class HeldOutFile(Record):
    path: str  # where it will stand once GREEN is judged
    blob: str


class HeldOut(Record):
    """Examples that the programmer is not shown. Until GREEN is judged, their text lies beside the state."""

    files: tuple[HeldOutFile, ...] = ()
    tests: tuple[str, ...] = ()


class Cycle(Document):
    """tdd/cycles/<story>.json"""

    story: str
    state: CycleState = CycleState.DESIGN
    steps: tuple[Step, ...] = ()
    refused: tuple[RefusedAttempt, ...] = ()
    refused_writes: tuple[RefusedWriteRecord, ...] = ()
    design: Design | None = None
    test_files: tuple[TestFile, ...] = ()
    tests: tuple[str, ...] = ()  # ids proved RED; after promotion, under their new names
    held_out: HeldOut | None = None  # without files: asked for, and none were given; None: not asked for
    blocked: str = ""
    paused: bool = False
    pre_implemented: bool = False


class RoleSpend(Record):
    role: str
    spend: Spend = Spend()


REPLAY_OF = "replay of "  # how the name of a model begins that answers from a recording


class RunRecord(Document):
    """runs/<run-id>.json: one invocation, for `status` and `logs`."""

    id: str
    started_at: str
    ended_at: str = ""
    model: str = ""
    steps: tuple[str, ...] = ()
    outcome: str = ""
    spend: Spend = Spend()
    roles: tuple[RoleSpend, ...] = ()  # the same, by the role that it was spent for

    @property
    def replayed(self) -> bool:
        return self.model.startswith(REPLAY_OF)
