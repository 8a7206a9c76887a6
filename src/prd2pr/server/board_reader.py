"""The methods of a `ViewReader` that derive their results from boards, independent of where the boards are stored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from prd2pr.server.reader import RepoFilter
from prd2pr.views.board.breakers import build_circuit_views
from prd2pr.views.board.costs import build_cost_view
from prd2pr.views.board.metrics import sum_metrics
from prd2pr.views.board.models import BoardView, CostView, MetricsView, PrdBoard
from prd2pr.views.board.prds import build_board_view, build_project_view, sort_runs
from prd2pr.views.board.workers import build_worker_views
from prd2pr.views.models import CircuitView, ProjectView, RunView, WorkerView

RepoBoards = tuple[str, tuple[PrdBoard, ...], tuple[str, ...]]  # name, boards, problems


class BoardBackedReader(ABC):
    """Implements all methods of `ViewReader` except those for the pages of single stories."""

    _clock: Callable[[], str]

    @abstractmethod
    def _read(self, repos: RepoFilter) -> tuple[RepoBoards, ...]: ...

    def projects(self, repos: RepoFilter = None) -> tuple[ProjectView, ...]:
        return tuple(build_project_view(repo, boards, problems) for repo, boards, problems in self._read(repos))

    def project(self, repo: str) -> BoardView | None:
        return next((build_board_view(name, boards, problems) for name, boards, problems in self._read({repo})), None)

    def circuits(self, repos: RepoFilter = None) -> tuple[CircuitView, ...]:
        at = self._clock()
        return tuple(each for board in self._boards(repos) for each in build_circuit_views(board, at))

    def workers(self, repos: RepoFilter = None) -> tuple[WorkerView, ...]:
        return build_worker_views(self.runs(repos), self.circuits(repos), self._clock())

    def runs(self, repos: RepoFilter = None) -> tuple[RunView, ...]:
        return sort_runs(self._boards(repos))

    def costs(self, repos: RepoFilter = None) -> CostView:
        return build_cost_view(self.runs(repos))

    def metrics(self, repos: RepoFilter = None) -> MetricsView:
        return sum_metrics(board.metrics for board in self._boards(repos))

    def _boards(self, repos: RepoFilter) -> tuple[PrdBoard, ...]:
        return tuple(board for _, boards, _ in self._read(repos) for board in boards)
