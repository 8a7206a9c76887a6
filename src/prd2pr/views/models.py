"""The view model of PRD, story, step and run.

The pull request, comments, dashboard, static site and API render it, and the client parses it.

Untrusted text is either reduced to one line (`clean_line`) or has its invisible characters spelled out
(`escape_invisible`); templates escape it. Times are ISO 8601 in UTC with a `Z`, or empty if unknown. The API and the
projections use JSON, so every value must survive a round trip. The client imports this module, so it may depend only on
pydantic and the records.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, computed_field

from prd2pr.domain.breakers.records import CircuitLevel, CircuitState
from prd2pr.domain.records import Phase, RoleSpend, Spend
from prd2pr.domain.role_record import RoleRemark

Tone = Literal["proven", "working", "waiting", "refused", "blocked", "unproven", "quiet"]
SETTLED_TONES: tuple[Tone, ...] = ("proven", "unproven")  # of a branch without remaining work

MAX_TITLE = 160  # of a PRD
BOARD_PHASES = (Phase.DESIGN, Phase.RED, Phase.GREEN, Phase.REFACTOR, Phase.INTEGRATED)
NOT_MEASURED = "not measured"


class View(BaseModel):
    """Base class of the view models. Unknown keys are ignored, so that an older client works with a newer server."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


def make_html_anchor(*parts: object) -> str:
    """Return an HTML id. Names with special characters get a digest, so that ids stay unique."""
    name = "-".join(str(part) for part in parts)
    tame = re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-")
    return tame if tame == name else f"{tame}-{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


class Column(StrEnum):
    """The column of a story on the board.

    Skipped and aborted stories are in COMPLETE too, because no work is left.
    """

    PENDING = "PENDING"
    IN_PROGRESS = "IN PROGRESS"
    PASSING = "PASSING"  # GREEN is proved, but the story is not integrated yet
    COMPLETE = "COMPLETE"
    BLOCKED = "BLOCKED"


def make_task_key(repo: str, story: str) -> str:
    """Return the key `owner/repo:story-id`, which is unique across repositories."""
    return f"{repo}:{story}"


def split_task_key(key: str) -> tuple[str, str]:
    repo, _, story = key.rpartition(":")
    return repo, story


@dataclass(frozen=True)
class ColumnCount:
    column: Column
    stories: int


def sum_column_counts(counts: Iterable[ColumnCount]) -> tuple[ColumnCount, ...]:
    """Sum up counts by column, in column order and including empty columns."""
    found = dict.fromkeys(Column, 0)
    for each in counts:
        found[each.column] += each.stories
    return tuple(ColumnCount(column, stories) for column, stories in found.items())


@dataclass(frozen=True)
class Figure:
    value: str
    label: str
    strong: bool = False
    claim: bool = False  # says that something is proven or done, which a refuted proof would contradict
    joint: str = " "  # separator between value and label in running text


def format_figures(figures: Iterable[Figure]) -> str:
    """Return the figures as one line of plain text."""
    return " · ".join(f"{each.value}{each.joint}{each.label}" for each in figures)


@dataclass(frozen=True)
class NextStep:
    sentence: str
    command: str = ""


NO_NEXT_STEP = NextStep("")


# --- steps ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FindingView:
    code: str
    severity: str
    message: str
    place: str


class StepProof(View):
    """A passed phase of a story."""

    n: int
    phase: str
    outcome: str
    commit: str
    at: str
    attempts: int
    cost: str
    note: str
    findings: tuple[FindingView, ...] = ()
    faults: str = Field(default="", description="Number of mutants killed, as a sentence.")


@dataclass(frozen=True)
class TestView:
    __test__ = False
    id: str
    before: str
    after: str
    tone: Tone
    failure: str = ""  # type and message of the error


@dataclass(frozen=True)
class TestRunView:
    label: str  # `before`, `after` or `repeated`
    collected: int
    passed: int
    failed: int
    errors: int
    skipped: int
    seconds: str
    sandbox: str
    honest: bool
    problems: tuple[str, ...]


FaultLabel = Literal["noticed", "not noticed", "not judged"]


@dataclass(frozen=True)
class FaultView:
    """A mutant, and whether the story's tests detected it."""

    change: str  # for example `cents // 100` → `cents * 100`
    place: str
    outcome: FaultLabel
    by: str = ""  # test that detected it
    why: str = ""  # why the mutant could not be judged


LineKind = Literal["added", "removed", "hunk", "context", "note"]


@dataclass(frozen=True)
class DiffLine:
    kind: LineKind
    text: str


@dataclass(frozen=True)
class FileDiff:
    path: str
    added: int
    removed: int
    lines: tuple[DiffLine, ...]
    hidden: int = 0


class StepView(StepProof):
    """A step with all its evidence, for story pages."""

    anchor: str
    tone: Tone
    runs: tuple[TestRunView, ...]
    tests: tuple[TestView, ...]
    facts: tuple[str, ...]  # sentences about locked files, the comparison with the base, and improvements
    mutants: tuple[FaultView, ...]
    diff: tuple[FileDiff, ...]
    output: str = ""  # what the built program printed


# --- stories ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cell:
    text: str = ""
    detail: str = ""
    sha: str = ""
    anchor: str = ""
    tone: Tone = "quiet"


class StoryCard(View):
    """A story of a repository, as shown on the board."""

    repo: str
    prd: str
    id: str = Field(description="ID of the story, unique within its repository.")
    title: str
    kind: str
    column: Column
    outcome: str = Field(description="State in a word or two, as on the pull request.")
    tone: Tone = "quiet"
    phase: str = Field(description="Next phase, or last phase if the story is finished; empty if not started.")
    attempts: int = Field(description="Attempts by roles, over all phases.")
    refused: int = Field(description="Attempts that a gate refused.")
    spend: Spend
    seconds: float = Field(description="Runner time.")
    since: str = Field(description="Time of the last step, or of the plan if the story has not started.")
    cells: tuple[Cell, ...] = Field(default=(), description="Phases from design to integrated.")
    tests: str = Field(description="Test results as a sentence, for example: 9 of 9 pass.")
    bite: str = Field(description="Number of mutants killed, as a sentence.")
    reason: str = Field(default="", description="Reason why the story is blocked.")
    depends_on: tuple[str, ...] = ()

    @computed_field(description="owner/repo:story, unique across repositories.")  # type: ignore[prop-decorator]
    @property
    def key(self) -> str:
        return make_task_key(self.repo, self.id)

    @property
    def anchor(self) -> str:
        """Return the HTML id of the story's evidence."""
        return make_html_anchor("story", self.id)


@dataclass(frozen=True)
class TracedTest:
    id: str
    outcome: str  # passes, fails as expected, not run …
    tone: Tone = "quiet"


class TraceRow(View):
    """A criterion of a story, with the tests that prove it."""

    id: str
    text: str
    requirements: tuple[str, ...]
    tests: tuple[TracedTest, ...]
    commit: str = Field(description="Empty if there is none yet.")
    verdict: str
    story: str = ""
    anchor: str = ""
    tone: Tone = "quiet"


class RefusalView(View):
    """An attempt that a gate refused."""

    phase: str
    attempt: int
    codes: tuple[str, ...]
    summary: str
    crossed: bool = Field(description="Whether a later attempt passed.")
    story: str = ""
    anchor: str = ""


class StoryProof(StoryCard):
    """A story with its criteria and proofs."""

    prd_title: str
    prd_path: str
    branch: str
    description: str
    design: str
    criteria: tuple[TraceRow, ...]
    steps: tuple[StepProof, ...]
    refusals: tuple[RefusalView, ...]


# `proven` requires tests of that very requirement: every criterion that comes from it has a test that failed before the
# code existed and passes now. `partly` means that nothing more is planned, and `pending` that work is left.
RequirementStatus = Literal[
    "proven",
    "already implemented",
    "partly",
    "indirect",
    "untested",
    "excluded",
    "not covered",
    "open question",
    "failing",
    "pending",
]
VERIFIED_STATUSES: tuple[RequirementStatus, ...] = ("proven", "already implemented")


@dataclass(frozen=True)
class RequirementRow:
    id: str  # empty for an open question without an id
    text: str
    stories: tuple[str, ...]
    verdict: str
    tone: Tone
    status: RequirementStatus = "pending"
    planned: bool = True  # False for what the PRD only asks or excludes

    @property
    def is_uncovered(self) -> bool:
        """Whether no work on the requirement is left although no test proves it directly."""
        return self.planned and self.status not in (*VERIFIED_STATUSES, "pending")


@dataclass(frozen=True)
class RefusedWriteView:
    """A write by a role that the policy refused."""

    story: str
    phase: str
    path: str
    code: str
    message: str = ""


@dataclass(frozen=True)
class PageView:
    """A screenshot of a page after the story. Without image data, only its name is shown."""

    path: str
    file: str
    digest: str
    data: str = ""  # PNG, encoded as base64
    sha: str = ""  # the commit that contains the file


class StoryView(StoryProof):
    """The story page: criteria, tests, red run, green run, mutants, diff and findings."""

    requirements: tuple[RequirementRow, ...]  # requirements that the story covers
    decisions: tuple[str, ...]
    symbols: tuple[str, ...]  # planned by the design, for example `shop.points.earn(cart: Cart) -> int`
    steps: tuple[StepView, ...]
    refused_writes: tuple[RefusedWriteView, ...]
    remarks: tuple[RoleRemark, ...]  # remarks by roles; they do not block the story
    pages: tuple[PageView, ...] = ()
    coverage: str = Field(default="", description="Line coverage at integration, and before the story.")
    unread: bool = False  # its diffs were not read; they are in git


# --- PRDs and repositories --------------------------------------------------------------------------------------------


class PrdSummary(View):
    id: str
    title: str
    path: str
    branch: str
    head: str = Field(description="Commit from which this was read.")
    state: str = Field(description="State of the project, for example SPRINT_ACTIVE.")
    outcome: str = Field(description="State in a word or two, as on the pull request.")
    tone: Tone = "working"
    next: str = Field(description="Next action, as a sentence.")
    command: str = Field(default="", description="Command for the next action.")
    stories: int
    proven: int
    counts: tuple[ColumnCount, ...] = Field(description="Stories by column, including empty columns.")
    spend: Spend
    replayed: bool = Field(default=False, description="Whether the model's answers came from a recording.")
    updated_at: str


@dataclass(frozen=True)
class BurndownPoint:
    at: str
    left: int


class PrdView(PrdSummary):
    """A PRD on its branch."""

    repo: str
    base: str
    figures: tuple[Figure, ...]
    seconds: float
    model: str
    requirements: tuple[RequirementRow, ...]
    questions: tuple[str, ...]
    assumptions: tuple[str, ...]
    alarms: tuple[str, ...]  # alarms raised by the moderator
    burn_down: tuple[BurndownPoint, ...]  # burndown chart of the current sprint
    burned: str  # the burndown as one line of text


class ProjectView(View):
    """A repository with all its PRDs, from this server or from one of its sources."""

    repo: str
    server: str = Field(default="", description="Name of the other server that it comes from; empty for this server.")
    stale: bool = Field(default=False, description="Whether that server is unreachable and this is its last answer.")
    age_seconds: float = Field(default=0, description="Age of that answer in seconds.")
    problems: tuple[str, ...] = Field(default=(), description="Branches whose state cannot be read, with the reason.")
    prds: tuple[PrdSummary, ...] = ()

    @computed_field  # type: ignore[prop-decorator]
    @property
    def stories(self) -> int:
        return sum(prd.stories for prd in self.prds)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def proven(self) -> int:
        return sum(prd.proven for prd in self.prds)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def counts(self) -> tuple[ColumnCount, ...]:
        return sum_column_counts(count for prd in self.prds for count in prd.counts)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def spend(self) -> Spend:
        return sum((prd.spend for prd in self.prds), Spend())

    @computed_field  # type: ignore[prop-decorator]
    @property
    def updated_at(self) -> str:
        return max((prd.updated_at for prd in self.prds), default="")


# --- circuit breakers, workers, runs ----------------------------------------------------------------------------------


class CircuitView(View):
    """A circuit breaker of one PRD, including one that never failed."""

    repo: str
    prd: str
    name: str = Field(description="For example green, push, anthropic:claude-sonnet-5-5 or system.")
    level: CircuitLevel
    state: CircuitState
    failures: int = 0
    since: str = ""
    last: str = ""
    why: str = ""
    opened_at: str = ""
    by_hand: bool = Field(default=False, description="Whether only a person can reset it, because it trips repeatedly.")
    told: str = Field(default="", description="Reason as a sentence; empty if the breaker is closed.")

    @computed_field(description="owner/repo:prd:name; only the name may contain colons.")  # type: ignore[prop-decorator]
    @property
    def id(self) -> str:
        return f"{self.repo}:{self.prd}:{self.name}"


class WorkerView(View):
    """A worker. Branches record the models that worked; a server also knows its own active workers."""

    name: str
    kind: Literal["model", "recording", "pool", "actions", "plugin"]
    state: Literal["working", "idle", "gone", "not known"] = "not known"
    working_on: str = ""  # a task's key or another description
    repos: tuple[str, ...] = ()
    runs: int = 0
    steps: int = 0
    spend: Spend = Spend()
    last_seen: str = ""
    circuit: CircuitState = "closed"


class RunView(View):
    """One run of prd2pr."""

    repo: str
    prd: str
    id: str
    started_at: str
    ended_at: str
    seconds: float
    model: str
    replayed: bool = Field(description="Whether the model's answers came from a recording.")
    outcome: str
    steps: tuple[str, ...] = Field(description="Steps made by the run: loyalty-2/3 is the third step of loyalty-2.")
    spend: Spend
    roles: tuple[RoleSpend, ...] = ()

    @computed_field(description="owner/repo:run.")  # type: ignore[prop-decorator]
    @property
    def key(self) -> str:
        return f"{self.repo}:{self.id}"
