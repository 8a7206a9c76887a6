"""View models of the board, the costs and the metrics, as frozen values.

Projections store these values, so they must survive a round trip through JSON (`pydantic.TypeAdapter`).
"""

from __future__ import annotations

from dataclasses import dataclass

from prd2pr.domain.breakers.records import Circuits
from prd2pr.domain.records import Spend, TestFileStatus
from prd2pr.views.models import Column, ColumnCount, PrdView, ProjectView, RunView, StoryCard


@dataclass(frozen=True)
class BoardView:
    """The board of a repository: all cards, in the order in which the stories are worked on."""

    project: ProjectView
    cards: tuple[StoryCard, ...]

    def in_column(self, column: Column) -> tuple[StoryCard, ...]:
        return tuple(card for card in self.cards if card.column is column)


@dataclass(frozen=True)
class CostShare:
    """Spending on one day, or of one role, model or PRD."""

    name: str
    spend: Spend


@dataclass(frozen=True)
class CostView:
    total: Spend
    days: tuple[CostShare, ...]  # `YYYY-MM-DD`, every day from the first to the last
    prds: tuple[CostShare, ...]  # `owner/repo:prd`, most expensive first
    models: tuple[CostShare, ...]
    roles: tuple[CostShare, ...]  # can be less than the total, because earlier versions did not record roles


@dataclass(frozen=True)
class PhaseMeasure:
    phase: str
    crossed: int
    at_first: int  # number of stories that passed at the first attempt
    refused: int
    seconds: float
    spend: Spend


@dataclass(frozen=True)
class CodeMeasure:
    code: str  # for example `GRN301`
    refused: int  # number of refused attempts with this finding
    title: str = ""


@dataclass(frozen=True)
class DayCount:
    day: str  # YYYY-MM-DD
    stories: int


@dataclass(frozen=True)
class TestFileCount:
    __test__ = False
    status: TestFileStatus
    files: int


@dataclass(frozen=True)
class CoverageMeasure:
    """Line coverage when a story was integrated."""

    at: str
    prd: str
    story: str
    statements: int
    executed: int
    share: str
    own: str  # executed statements of the story's own lines


@dataclass(frozen=True)
class MetricsView:
    stories: int
    proven: int
    counts: tuple[ColumnCount, ...]
    tests: int  # tests of the stories that pass now
    tests_in_all: int
    faults: int  # number of mutants killed
    faults_in_all: int
    phases: tuple[PhaseMeasure, ...]
    codes: tuple[CodeMeasure, ...]  # most frequent first
    finished: tuple[DayCount, ...] = ()  # finished stories by day, without empty days
    test_files: tuple[TestFileCount, ...] = ()  # every status, in order
    coverage: tuple[CoverageMeasure, ...] = ()  # in the order of integration


@dataclass(frozen=True)
class PrdBoard:
    """Everything that is shown about one PRD at one commit, except story pages. Totals over several PRDs are sums."""

    view: PrdView
    cards: tuple[StoryCard, ...]
    circuits: Circuits  # as recorded; `views.board.breakers` derives the current state from the time
    runs: tuple[RunView, ...]
    metrics: MetricsView
