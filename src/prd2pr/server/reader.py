"""The interface from which the dashboard and the API read.

The projection implements it with the server's database, and `disk_reader` with repositories on disk, for the static
site and the demo. The views are those of `views.board`. Readers are thread-safe and change nothing.

`repos` limits the result to these repositories, since a token may cover only some; None means all. Totals (costs,
metrics, workers) cover the same repositories, so that they reveal nothing about others.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from prd2pr.views.board.models import BoardView, CostView, MetricsView
from prd2pr.views.models import CircuitView, ProjectView, RunView, StoryView, WorkerView

RepoFilter = Collection[str] | None


class ViewReader(Protocol):
    def projects(self, repos: RepoFilter = None) -> tuple[ProjectView, ...]:
        """Return all repositories with state, sorted by name."""
        ...

    def project(self, repo: str) -> BoardView | None:
        """Return one repository with all its cards, or None if it is unknown."""
        ...

    def story(self, repo: str, key: str) -> StoryView | None:
        """Return one story. `key` is its id within the repository."""
        ...

    def circuits(self, repos: RepoFilter = None) -> tuple[CircuitView, ...]:
        """Return the circuits of every PRD, including closed ones: first the system's, then workers', then stages'."""
        ...

    def workers(self, repos: RepoFilter = None) -> tuple[WorkerView, ...]: ...

    def runs(self, repos: RepoFilter = None) -> tuple[RunView, ...]:
        """Return runs, newest first."""
        ...

    def costs(self, repos: RepoFilter = None) -> CostView: ...

    def metrics(self, repos: RepoFilter = None) -> MetricsView: ...
