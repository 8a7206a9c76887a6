"""View models of the board, the costs and the measures, as frozen values.

Every value survives a round trip through JSON (`pydantic.TypeAdapter`), because projections store it.
"""

from __future__ import annotations

from dataclasses import dataclass

from prd2pr.domain.breakers.records import Circuits
from prd2pr.domain.records import Spend
from prd2pr.views.models import Column, ColumnCount, PrdView, ProjectView, RunView, StoryCard


@dataclass(frozen=True)
class BoardView:
    """A repository with all its cards, in working order: what the board shows."""

    project: ProjectView
    cards: tuple[StoryCard, ...]

    def in_column(self, column: Column) -> tuple[StoryCard, ...]:
        return tuple(card for card in self.cards if card.column is column)


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


@dataclass(frozen=True)
class PrdBoard:
    """Everything shown about one PRD at one commit except for story pages; totals over PRDs are sums of these."""

    view: PrdView
    cards: tuple[StoryCard, ...]
    circuits: Circuits  # as recorded; their state depends on the time (`views.board.breakers`)
    runs: tuple[RunView, ...]
    metrics: MetricsView
