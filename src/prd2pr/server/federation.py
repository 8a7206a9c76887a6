"""Projects of other servers: each server is polled with its own token, or registers here and sends heartbeats.

If a server does not answer, its last answer is shown with its age. The other servers are not delayed.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Self, TypeVar

import httpx

from prd2pr.client import ApiError, Client
from prd2pr.client import models as api
from prd2pr.domain.wording import clean_line, clip, format_duration
from prd2pr.server.reader import RepoFilter, ViewReader
from prd2pr.server.registration import RegisteredServer
from prd2pr.server.settings import SourceSetting
from prd2pr.views.board.models import BoardView, CostView, MetricsView
from prd2pr.views.models import CircuitView, ProjectView, RunView, StoryView, View, WorkerView

POLL_SECONDS = 15.0  # seconds
TIMEOUT = httpx.Timeout(8.0, connect=4.0)
STALE_SECONDS = 3 * POLL_SECONDS
MAX_TEXT = 500
V = TypeVar("V", bound=View)
LOG = logging.getLogger("prd2pr.server.federation")


@dataclass(frozen=True)
class SourceReport:
    """The last answer of another server."""

    projects: tuple[ProjectView, ...] = ()
    at: float | None = None  # in Federation's clock; None if it has never answered
    problem: str = ""  # the error of the last poll, if it failed

    def age(self, now: float) -> float | None:
        return None if self.at is None else max(0.0, now - self.at)

    def is_stale(self, now: float) -> bool:
        age = self.age(now)
        return bool(self.problem) or age is None or age > STALE_SECONDS


FetchProjects = Callable[[SourceSetting], tuple[ProjectView, ...]]


def fetch_projects(source: SourceSetting) -> tuple[ProjectView, ...]:
    """Fetch a server's own projects. Projects of its federated servers are left out, since they could form a cycle."""
    token = os.environ.get(source.token_env, "") if source.token_env else ""
    with Client(source.url, token, timeout=TIMEOUT, sleep=lambda _: None) as client:
        return tuple(project for project in client.projects() if not project.server)


class Federation:
    """Polls each source in its own thread, so that a slow source does not delay the others."""

    def __init__(
        self,
        sources: Iterable[SourceSetting],
        *,
        fetch: FetchProjects = fetch_projects,
        every: float = POLL_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        list_registered: Callable[[], tuple[RegisteredServer, ...]] = tuple,
    ) -> None:
        self.sources = tuple(sources)
        self._fetch, self._poll_seconds, self._clock = fetch, every, clock
        self._list_registered = list_registered
        self._reports = {source.name: SourceReport() for source in self.sources}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._poll_forever, args=(source,), name=f"source {source.name}", daemon=True)
            for source in self.sources
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join(timeout=1)

    def _poll_forever(self, source: SourceSetting) -> None:
        while not self._stopping.is_set():
            self.poll_source(source)
            self._stopping.wait(self._poll_seconds)

    def poll_source(self, source: SourceSetting) -> None:
        try:
            reports = SourceReport(self._fetch(source), self._clock())
        except ApiError as error:
            problem = clip(clean_line(str(error)), 300)
            LOG.warning("a federated server does not answer", extra={"source": source.name, "problem": problem})
            reports = replace(self._reports[source.name], problem=problem)
        with self._lock:
            self._reports[source.name] = reports

    def list_sources(self) -> tuple[api.Source, ...]:
        now = self._clock()
        with self._lock:
            reports = dict(self._reports)
        polled = tuple(
            api.Source(
                name=source.name,
                url=source.url,
                stale=reports[source.name].is_stale(now),
                age_seconds=reports[source.name].age(now),
                problem=reports[source.name].problem,
            )
            for source in self.sources
        )
        registered = tuple(
            api.Source(name=each.name, url=each.url, stale=each.age > STALE_SECONDS, age_seconds=each.age)
            for each in self._list_registered()
        )
        return polled + registered

    def projects(self) -> tuple[ProjectView, ...]:
        """Return all projects, each with its server's name and whether that server responds."""
        now = self._clock()
        with self._lock:
            reports = dict(self._reports)
        answers = [(name, each.is_stale(now), each.age(now) or 0.0, each.projects) for name, each in reports.items()]
        answers += [(each.name, each.age > STALE_SECONDS, each.age, each.projects) for each in self._list_registered()]
        return tuple(
            project.model_copy(update={"server": name, "stale": stale, "age_seconds": age})
            for name, stale, age, projects in answers
            for project in projects
        )


@dataclass(frozen=True)
class FederatedReader:
    """A reader that adds other servers' projects to the project list. All other views show only this server's data."""

    own: ViewReader
    federation: Federation

    def projects(self, repos: RepoFilter = None) -> tuple[ProjectView, ...]:
        others = (
            sanitize_remote_project(each) for each in self.federation.projects() if repos is None or each.repo in repos
        )
        return tuple(sorted((*self.own.projects(repos), *others), key=lambda each: (each.repo, each.server)))

    def project(self, repo: str) -> BoardView | None:
        return self.own.project(repo)

    def story(self, repo: str, key: str) -> StoryView | None:
        return self.own.story(repo, key)

    def circuits(self, repos: RepoFilter = None) -> tuple[CircuitView, ...]:
        return self.own.circuits(repos)

    def workers(self, repos: RepoFilter = None) -> tuple[WorkerView, ...]:
        return self.own.workers(repos)

    def runs(self, repos: RepoFilter = None) -> tuple[RunView, ...]:
        return self.own.runs(repos)

    def costs(self, repos: RepoFilter = None) -> CostView:
        return self.own.costs(repos)

    def metrics(self, repos: RepoFilter = None) -> MetricsView:
        return self.own.metrics(repos)


def sanitize_remote_project(project: ProjectView) -> ProjectView:
    """Sanitize a project for display, because text from another server is untrusted."""
    stale = f"{project.server} does not answer; its last answer is {format_duration(project.age_seconds)} old"
    problems = (*((stale,) if project.stale else ()), *(clip(clean_line(each), 500) for each in project.problems))
    prds = tuple(sanitize_texts(each) for each in project.prds)
    return sanitize_texts(project).model_copy(update={"prds": prds, "problems": problems})


def sanitize_texts(view: V) -> V:
    texts = {name: clip(clean_line(value), MAX_TEXT) for name, value in view if isinstance(value, str)}
    return view.model_copy(update=texts)
