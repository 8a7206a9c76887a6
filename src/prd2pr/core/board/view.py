"""All that the dashboard, the API and the static site show, as frozen values.

Words and numbers are those of the pull request: the parts that it shares with them (`picture_parts`) are used as they
are. All text of others is one clean line or spelt out; escaping is the template's part. Times are UTC, ISO 8601 with a
`Z`, and how long ago that was is said by whoever shows it. Every value goes through JSON and back
(`pydantic.TypeAdapter`), so that a projection may keep it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from prd2pr.core.breakers.circuits import State as CircuitState
from prd2pr.core.breakers.records import Circuits, Level
from prd2pr.core.burndown import Point
from prd2pr.core.judgement.remarks import Remark
from prd2pr.core.picture_parts import (
    Cell,
    Figure,
    NextStep,
    Refusal,
    RefusedWrite,
    RequirementRow,
    StepView,
    Tone,
    TraceRow,
)
from prd2pr.core.records import RoleSpend, Spend


class Column(StrEnum):
    """Where a card stands. A story that was skipped or given up is COMPLETE too: nothing is left to do for it, and its
    card says why."""

    PENDING = "PENDING"
    IN_PROGRESS = "IN PROGRESS"
    PASSING = "PASSING"  # GREEN is proved, and it is not integrated yet
    COMPLETE = "COMPLETE"
    BLOCKED = "BLOCKED"


def task_key(repo: str, story: str) -> str:
    """`owner/repo:story-id`, in lists over all repositories."""
    return f"{repo}:{story}"


def split_key(key: str) -> tuple[str, str]:
    repo, _, story = key.rpartition(":")
    return repo, story


@dataclass(frozen=True)
class ColumnCount:
    column: Column
    stories: int


def added_counts(counts: Iterable[ColumnCount]) -> tuple[ColumnCount, ...]:
    """In the order of the columns, none left out."""
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
    phase: str  # the one that is due, or was crossed last; empty: nothing was begun
    attempts: int  # of the roles, crossed or refused, over all phases
    refused: int  # of these
    spend: Spend
    seconds: float  # of runner time
    since: str  # when its last step was made; of a story that was not begun, when it was planned; may be empty
    cells: tuple[Cell, ...]  # in the order of picture_parts.BOARD_PHASES
    tests: str  # `9 of 9 pass`
    bite: str  # `12 of 13 faults noticed`
    reason: str = ""  # why it is blocked
    depends_on: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return task_key(self.repo, self.id)


FaultWord = Literal["noticed", "not noticed", "not judged"]


@dataclass(frozen=True)
class FaultView:
    """A deliberate fault, and what the story's tests made of it."""

    change: str  # `cents // 100` → `cents * 100`
    place: str
    outcome: FaultWord
    by: str = ""  # the test that noticed
    why: str = ""  # why it could not be judged


@dataclass(frozen=True)
class Notebook:
    """One crossed phase: all that proves it, and the faults that were tried on it."""

    step: StepView
    faults: tuple[FaultView, ...] = ()
    faults_told: str = ""  # `14 of 14 faults noticed`; empty: none were tried


@dataclass(frozen=True)
class StoryView:
    """The story page: criterion, test, red run, green run, faults, diff, findings."""

    card: StoryCard
    prd_title: str
    prd_path: str
    branch: str
    description: str
    requirements: tuple[RequirementRow, ...]  # those that it is for
    criteria: tuple[TraceRow, ...]
    design: str
    decisions: tuple[str, ...]
    symbols: tuple[str, ...]  # that the design planned: shop.points.earn(cart: Cart) -> int
    notebook: tuple[Notebook, ...]
    refusals: tuple[Refusal, ...]
    refused_writes: tuple[RefusedWrite, ...]
    remarks: tuple[Remark, ...]  # of roles about it: they stop nothing
    unread: bool = False  # its diffs are in git, and were not read here

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
    head: str  # the commit that all of this was read from
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
    burn_down: tuple[Point, ...] = ()  # of the present sprint
    burned: str = ""  # the same in a line


@dataclass(frozen=True)
class ProjectView:
    """A repository with all its PRDs: what the overview shows."""

    repo: str
    prds: tuple[PrdView, ...]
    problems: tuple[str, ...] = ()  # branches whose state cannot be read, each with why
    server: str = ""  # of another server that was read too; empty: this one

    @property
    def stories(self) -> int:
        return sum(prd.stories for prd in self.prds)

    @property
    def proven(self) -> int:
        return sum(prd.proven for prd in self.prds)

    @property
    def counts(self) -> tuple[ColumnCount, ...]:
        return added_counts(count for prd in self.prds for count in prd.counts)

    @property
    def spend(self) -> Spend:
        return sum((prd.spend for prd in self.prds), Spend())

    @property
    def updated_at(self) -> str:
        return max((prd.updated_at for prd in self.prds), default="")


@dataclass(frozen=True)
class BoardView:
    """A repository with every card of it, in the order in which they are worked on: what the board shows."""

    project: ProjectView
    cards: tuple[StoryCard, ...]

    def in_column(self, column: Column) -> tuple[StoryCard, ...]:
        return tuple(card for card in self.cards if card.column is column)


# --- what works, and what keeps it from working -----------------------------------------------------------------------


@dataclass(frozen=True)
class CircuitView:
    """A circuit breaker of one PRD, also where it never saw trouble."""

    repo: str
    prd: str
    name: str  # green, push, anthropic:claude-sonnet-5-5, system
    level: Level
    state: CircuitState
    failures: int = 0
    since: str = ""
    last: str = ""
    why: str = ""
    opened_at: str = ""
    by_hand: bool = False  # it flaps: only a person closes it
    told: str = ""  # a sentence; empty where it is closed

    @property
    def id(self) -> str:
        """`owner/repo:prd:name`; only the name may hold colons."""
        return f"{self.repo}:{self.prd}:{self.name}"


@dataclass(frozen=True)
class WorkerView:
    """Who does the work. Branches tell which models did, a server also which of its own are at it now."""

    name: str
    kind: Literal["model", "recording", "pool", "actions", "plugin"]
    state: Literal["working", "idle", "gone", "not known"] = "not known"
    working_on: str = ""  # a task's key, or what else there is to say of it
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
    """A part of what was spent: of a day, a role, a model, a PRD."""

    name: str
    spend: Spend


@dataclass(frozen=True)
class CostView:
    total: Spend
    days: tuple[CostShare, ...]  # YYYY-MM-DD, every day from the first to the last
    prds: tuple[CostShare, ...]  # owner/repo:prd, the dearest first
    models: tuple[CostShare, ...]
    roles: tuple[CostShare, ...]  # runs of earlier versions do not say it; then it is less than the total


@dataclass(frozen=True)
class PhaseMeasure:
    """One phase over all stories."""

    phase: str
    crossed: int
    at_first: int  # crossed by the first attempt
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
    tests: int  # of the stories, that pass now
    tests_in_all: int
    faults: int  # that were noticed
    faults_in_all: int
    phases: tuple[PhaseMeasure, ...]
    codes: tuple[CodeMeasure, ...]  # the most frequent first
    finished: tuple[DayCount, ...] = ()  # stories that were settled; days without one are left out


# --- one PRD, all of it -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PrdBoard:
    """All that is shown of one PRD at one head, but for the story pages. What spans several is added up from these."""

    view: PrdView
    cards: tuple[StoryCard, ...]
    circuits: Circuits  # as they are kept: how they stand depends on the moment (`core.board.circuits`)
    runs: tuple[RunView, ...]
    metrics: MetricsView
