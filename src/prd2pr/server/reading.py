"""What pages and API read from, and nothing else: one Protocol, whoever answers it.

The projection answers from the server's database; repositories on disk answer for the static site and the demo. Values
are those of `core.board`. A reading never changes anything, and may be asked from several threads.

`repos`: only these count, since a token may be for some repositories alone; None: all that there are. Sums (costs,
metrics, workers) are made of what is asked for, so that nobody reads in them what he may not see.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from prd2pr.core.board.view import (
    BoardView,
    CircuitView,
    CostView,
    MetricsView,
    ProjectView,
    RunView,
    StoryView,
    WorkerView,
)

Repos = Collection[str] | None


class Reading(Protocol):
    def projects(self, repos: Repos = None) -> tuple[ProjectView, ...]:
        """Every repository with state, by name."""
        ...

    def project(self, repo: str) -> BoardView | None:
        """One repository with every card; None: it is not known."""
        ...

    def story(self, repo: str, key: str) -> StoryView | None:
        """`key`: the story's id inside of its repository."""
        ...

    def circuits(self, repos: Repos = None) -> tuple[CircuitView, ...]:
        """Of every PRD: the system, then its workers, then the stages; closed ones too."""
        ...

    def workers(self, repos: Repos = None) -> tuple[WorkerView, ...]: ...

    def runs(self, repos: Repos = None) -> tuple[RunView, ...]:
        """The newest first."""
        ...

    def costs(self, repos: Repos = None) -> CostView: ...

    def metrics(self, repos: Repos = None) -> MetricsView: ...
