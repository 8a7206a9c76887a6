"""What every `server.reading.Reading` makes of boards, wherever they are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from prd2pr.core.board.circuits import circuit_views
from prd2pr.core.board.costs import cost_view
from prd2pr.core.board.metrics import added_metrics
from prd2pr.core.board.prds import board_view, newest_first, project_view
from prd2pr.core.board.view import (
    BoardView,
    CircuitView,
    CostView,
    MetricsView,
    PrdBoard,
    ProjectView,
    RunView,
    WorkerView,
)
from prd2pr.core.board.workers import worker_views
from prd2pr.server.reading import Repos

ReadRepo = tuple[str, tuple[PrdBoard, ...], tuple[str, ...]]  # its name, its boards, what could not be read


class FromBoards(ABC):
    """All but the pages of single stories."""

    _clock: Callable[[], str]

    @abstractmethod
    def _read(self, repos: Repos) -> tuple[ReadRepo, ...]: ...

    def projects(self, repos: Repos = None) -> tuple[ProjectView, ...]:
        return tuple(project_view(repo, boards, problems) for repo, boards, problems in self._read(repos))

    def project(self, repo: str) -> BoardView | None:
        return next((board_view(name, boards, problems) for name, boards, problems in self._read({repo})), None)

    def circuits(self, repos: Repos = None) -> tuple[CircuitView, ...]:
        at = self._clock()
        return tuple(each for board in self._boards(repos) for each in circuit_views(board, at))

    def workers(self, repos: Repos = None) -> tuple[WorkerView, ...]:
        return worker_views(self.runs(repos), self.circuits(repos))

    def runs(self, repos: Repos = None) -> tuple[RunView, ...]:
        return newest_first(self._boards(repos))

    def costs(self, repos: Repos = None) -> CostView:
        return cost_view(self.runs(repos))

    def metrics(self, repos: Repos = None) -> MetricsView:
        return added_metrics(board.metrics for board in self._boards(repos))

    def _boards(self, repos: Repos) -> tuple[PrdBoard, ...]:
        return tuple(board for _, boards, _ in self._read(repos) for board in boards)
