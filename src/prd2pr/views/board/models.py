"""View models of the dashboard, the API and the static site, as frozen values.

Labels and numbers are those of the pull request, whose models are reused (`views.pull_request.models`). Untrusted text
is one clean line or spelt out; escaping is up to the template. Times are UTC, ISO 8601 with a `Z`. Every value survives
a round trip through JSON (`pydantic.TypeAdapter`), because projections store it: do not rename fields.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from prd2pr.domain.breakers.circuits import CircuitState
from prd2pr.domain.breakers.records import CircuitLevel, Circuits
from prd2pr.domain.records import RoleSpend, Spend
from prd2pr.domain.remarks import RoleRemark
from prd2pr.views.burndown import BurndownPoint
from prd2pr.views.pull_request.models import (
    Cell,
    Figure,
    NextStep,
    RefusalView,
    RefusedWriteView,
    RequirementRow,
    StepView,
    Tone,
    TraceRow,
)


class Column(StrEnum):
    """The column of a card. Skipped and aborted stories are COMPLETE too: nothing is left to do."""

    PENDING = "PENDING"
    IN_PROGRESS = "IN PROGRESS"
    PASSING = "PASSING"  # GREEN is proved, not integrated yet
    COMPLETE = "COMPLETE"
    BLOCKED = "BLOCKED"


def task_key(repo: str, story: str) -> str:
    """Return `owner/repo:story-id`, unique over all repositories."""
    return f"{repo}:{story}"


def split_task_key(key: str) -> tuple[str, str]:
    repo, _, story = key.rpartition(":")
    return repo, story


@dataclass(frozen=True)
class ColumnCount:
    column: Column
    stories: int


def sum_column_counts(counts: Iterable[ColumnCount]) -> tuple[ColumnCount, ...]:
    """Sum up counts by column, in the order of the columns, including empty ones."""
    found = dict.fromkeys(Column, 0)
    for each in counts:
        found[each.column] += each.stories
    return tuple(ColumnCount(column, stories) for column, stories in found.items())


# --- stories ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StoryCard:
    """One story on the board."""

    repo: str
    prd: str
    id: str
    title: str
    kind: str
    column: Column
    outcome: str  # proven, in progress, waiting, blocked …, as on the pull request
    tone: Tone
    phase: str  # the next one, or the last one passed; empty: not started
    attempts: int  # of roles, over all phases
    refused: int  # of these
    spend: Spend
    seconds: float  # of runner time
    since: str  # time of its last step; if not started, of the plan; may be empty
    cells: tuple[Cell, ...]  # in the order of BOARD_PHASES
    tests: str  # `9 of 9 pass`
    bite: str  # mutation score: `12 of 13 mutants killed`
    reason: str = ""  # why it is blocked
    depends_on: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return task_key(self.repo, self.id)


FaultLabel = Literal["noticed", "not noticed", "not judged"]


@dataclass(frozen=True)
class FaultView:
    """A mutant, and whether the story's tests detected it."""

    change: str  # `cents // 100` → `cents * 100`
    place: str
    outcome: FaultLabel
    by: str = ""  # the test that detected it
    why: str = ""  # why it could not be judged


@dataclass(frozen=True)
class NotebookStep:
    """A passed phase with its evidence and mutants."""

    step: StepView
    faults: tuple[FaultView, ...] = ()
    faults_told: str = ""  # `14 of 14 mutants killed`; empty: no mutation testing


@dataclass(frozen=True)
class StoryView:
    """The story page: criterion, test, red run, green run, faults, diff, findings."""

    card: StoryCard
    prd_title: str
    prd_path: str
    branch: str
    description: str
    requirements: tuple[RequirementRow, ...]  # that it serves
    criteria: tuple[TraceRow, ...]
    design: str
    decisions: tuple[str, ...]
    symbols: tuple[str, ...]  # that the design planned: shop.points.earn(cart: Cart) -> int
    notebook: tuple[NotebookStep, ...]
    refusals: tuple[RefusalView, ...]
    refused_writes: tuple[RefusedWriteView, ...]
    remarks: tuple[RoleRemark, ...]  # of roles; they block nothing
    unread: bool = False  # its diffs are in git and were not read

    @property
    def key(self) -> str:
        return self.card.key


# --- PRDs and repositories --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PrdView:
    """One PRD on its branch."""

    repo: str
    id: str
    title: str
    path: str
    branch: str
    head: str  # the commit that this was read from
    base: str
    state: str  # of the project machine: SPRINT_ACTIVE
    outcome: str  # In progress, Ready for review …, as on the pull request
    tone: Tone
    figures: tuple[Figure, ...]
    next: NextStep
    counts: tuple[ColumnCount, ...]  # in the order of Column, none left out
    stories: int
    proven: int
    spend: Spend
    seconds: float
    model: str
    replayed: bool
    updated_at: str
    requirements: tuple[RequirementRow, ...] = ()
    questions: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    alarms: tuple[str, ...] = ()  # of the moderator
    burn_down: tuple[BurndownPoint, ...] = ()  # of the present sprint
    burned: str = ""  # the same in a line


@dataclass(frozen=True)
class ProjectView:
    """A repository with all its PRDs: what the overview shows."""

    repo: str
    prds: tuple[PrdView, ...]
    problems: tuple[str, ...] = ()  # branches whose state cannot be read, each with why
    server: str = ""  # another server that this was read from; empty: this one

    @property
    def stories(self) -> int:
        return sum(prd.stories for prd in self.prds)

    @property
    def proven(self) -> int:
        return sum(prd.proven for prd in self.prds)

    @property
    def counts(self) -> tuple[ColumnCount, ...]:
        return sum_column_counts(count for prd in self.prds for count in prd.counts)

    @property
    def spend(self) -> Spend:
        return sum((prd.spend for prd in self.prds), Spend())

    @property
    def updated_at(self) -> str:
        return max((prd.updated_at for prd in self.prds), default="")


@dataclass(frozen=True)
class BoardView:
    """A repository with all its cards, in working order: what the board shows."""

    project: ProjectView
    cards: tuple[StoryCard, ...]

    def in_column(self, column: Column) -> tuple[StoryCard, ...]:
        return tuple(card for card in self.cards if card.column is column)


# --- circuit breakers, workers, runs ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class CircuitView:
    """A circuit breaker of one PRD, including one that never failed."""

    repo: str
    prd: str
    name: str  # green, push, anthropic:claude-sonnet-5-5, system
    level: CircuitLevel
    state: CircuitState
    failures: int = 0
    since: str = ""
    last: str = ""
    why: str = ""
    opened_at: str = ""
    by_hand: bool = False  # it flaps: only a person can reset it
    told: str = ""  # a sentence; empty if it is closed

    @property
    def id(self) -> str:
        """Return `owner/repo:prd:name`; only the name may contain colons."""
        return f"{self.repo}:{self.prd}:{self.name}"


@dataclass(frozen=True)
class WorkerView:
    """A worker. Branches show which models worked; a server also knows its own active workers."""

    name: str
    kind: Literal["model", "recording", "pool", "actions", "plugin"]
    state: Literal["working", "idle", "gone", "not known"] = "not known"
    working_on: str = ""  # a task's key or another description
    repos: tuple[str, ...] = ()
    runs: int = 0
    steps: int = 0
    spend: Spend = field(default_factory=Spend)
    last_seen: str = ""
    circuit: CircuitState = "closed"


@dataclass(frozen=True)
class RunView:
    """One invocation."""

    repo: str
    prd: str
    id: str
    started_at: str
    ended_at: str
    seconds: float
    model: str
    replayed: bool
    outcome: str
    steps: tuple[str, ...]  # loyalty-2/3: the third step of the story
    spend: Spend
    roles: tuple[RoleSpend, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.repo}:{self.id}"


# --- money and measures -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CostShare:
    """Spending of a day, role, model or PRD."""

    name: str
    spend: Spend


@dataclass(frozen=True)
class CostView:
    total: Spend
    days: tuple[CostShare, ...]  # YYYY-MM-DD, every day from the first to the last
    prds: tuple[CostShare, ...]  # owner/repo:prd, the most expensive first
    models: tuple[CostShare, ...]
    roles: tuple[CostShare, ...]  # may be less than the total: runs of earlier versions do not record roles


@dataclass(frozen=True)
class PhaseMeasure:
    """One phase over all stories."""

    phase: str
    crossed: int
    at_first: int  # passed at the first attempt
    refused: int
    seconds: float
    spend: Spend


@dataclass(frozen=True)
class CodeMeasure:
    code: str  # GRN301
    refused: int  # attempts that it refused
    title: str = ""


@dataclass(frozen=True)
class DayCount:
    day: str  # YYYY-MM-DD
    stories: int


@dataclass(frozen=True)
class MetricsView:
    stories: int
    proven: int
    counts: tuple[ColumnCount, ...]
    tests: int  # of the stories that pass now
    tests_in_all: int
    faults: int  # mutants killed
    faults_in_all: int
    phases: tuple[PhaseMeasure, ...]
    codes: tuple[CodeMeasure, ...]  # the most frequent first
    finished: tuple[DayCount, ...] = ()  # settled stories; days without any are left out


# --- one PRD, all of it -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PrdBoard:
    """Everything shown about one PRD at one commit except for story pages; totals over PRDs are sums of these."""

    view: PrdView
    cards: tuple[StoryCard, ...]
    circuits: Circuits  # as recorded; their state depends on the time (`views.board.breakers`)
    runs: tuple[RunView, ...]
    metrics: MetricsView
