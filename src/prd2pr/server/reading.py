"""What pages and API read from, and nothing else: one Protocol, whoever answers it.

The projection answers from the server's database; a directory of repositories on disk answers for the static site and
the demo. Values are those of `core.board`. A reading never changes anything, and may be asked from several threads.
"""

from __future__ import annotations

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


class Reading(Protocol):
    def projects(self) -> tuple[ProjectView, ...]:
        """Every repository with state, by name."""
        ...

    def project(self, repo: str) -> BoardView | None:
        """One repository with every card; None: it is not known."""
        ...

    def story(self, repo: str, key: str) -> StoryView | None:
        """`key`: the story's id inside of its repository."""
        ...

    def circuits(self) -> tuple[CircuitView, ...]:
        """Of every PRD: the system, then its workers, then the stages; closed ones too."""
        ...

    def workers(self) -> tuple[WorkerView, ...]: ...

    def runs(self) -> tuple[RunView, ...]:
        """The newest first."""
        ...

    def costs(self) -> CostView: ...

    def metrics(self) -> MetricsView: ...
