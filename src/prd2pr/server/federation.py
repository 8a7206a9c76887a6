"""Several servers read together: each is asked now and then with its own token, and what it said last is kept.

One that does not answer is shown as it was, with its age; the others do not wait for it.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Self

import httpx

from prd2pr.client import ApiError, Client
from prd2pr.client import models as said
from prd2pr.core.board.view import (
    BoardView,
    CircuitView,
    Column,
    ColumnCount,
    CostView,
    MetricsView,
    PrdView,
    ProjectView,
    RunView,
    StoryView,
    WorkerView,
)
from prd2pr.core.picture_parts import NextStep
from prd2pr.core.records import Spend
from prd2pr.core.wording import clip, duration, plain
from prd2pr.server.reading import Reading, Repos
from prd2pr.server.settings import SourceSetting

ASKED_EVERY = 15.0  # seconds
TIMEOUT = httpx.Timeout(8.0, connect=4.0)
STALE_AFTER = 3 * ASKED_EVERY
LOG = logging.getLogger("prd2pr.server.federation")


@dataclass(frozen=True)
class Heard:
    """What a server said last."""

    projects: tuple[said.Project, ...] = ()
    at: float | None = None  # by the clock of Federation; None: it never answered
    problem: str = ""  # why it did not answer the last time it was asked

    def age(self, now: float) -> float | None:
        return None if self.at is None else max(0.0, now - self.at)

    def is_stale(self, now: float) -> bool:
        age = self.age(now)
        return bool(self.problem) or age is None or age > STALE_AFTER


AskSource = Callable[[SourceSetting], tuple[said.Project, ...]]


def ask(source: SourceSetting) -> tuple[said.Project, ...]:
    """Only its own: what it reads of others would come round in circles."""
    token = os.environ.get(source.token_env, "") if source.token_env else ""
    with Client(source.url, token, timeout=TIMEOUT, sleep=lambda _: None) as client:
        return tuple(project for project in client.projects() if not project.server)


class Federation:
    """One thread for each source, so that a slow one delays no other."""

    def __init__(
        self,
        sources: Iterable[SourceSetting],
        *,
        asking: AskSource = ask,
        every: float = ASKED_EVERY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.sources = tuple(sources)
        self._asking, self._every, self._clock = asking, every, clock
        self._heard = {source.name: Heard() for source in self.sources}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._follow, args=(source,), name=f"source {source.name}", daemon=True)
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

    def _follow(self, source: SourceSetting) -> None:
        while not self._stopping.is_set():
            self.listen_to(source)
            self._stopping.wait(self._every)

    def listen_to(self, source: SourceSetting) -> None:
        try:
            heard = Heard(self._asking(source), self._clock())
        except ApiError as error:
            problem = clip(plain(str(error)), 300)
            LOG.warning("another server does not answer", extra={"source": source.name, "problem": problem})
            heard = replace(self._heard[source.name], problem=problem)
        with self._lock:
            self._heard[source.name] = heard

    def standing(self) -> tuple[said.Source, ...]:
        now = self._clock()
        with self._lock:
            heard = dict(self._heard)
        return tuple(
            said.Source(
                name=source.name,
                url=source.url,
                stale=heard[source.name].is_stale(now),
                age_seconds=heard[source.name].age(now),
                problem=heard[source.name].problem,
            )
            for source in self.sources
        )

    def projects(self) -> tuple[said.Project, ...]:
        """Of all of them, each with the name of its server, and whether that answers now."""
        now = self._clock()
        with self._lock:
            heard = dict(self._heard)
        return tuple(
            project.model_copy(
                update={
                    "server": source.name,
                    "stale": heard[source.name].is_stale(now),
                    "age_seconds": heard[source.name].age(now) or 0.0,
                }
            )
            for source in self.sources
            for project in heard[source.name].projects
        )


@dataclass(frozen=True)
class Federated:
    """A reading whose overview shows other servers' projects too. Everything else is this server's own."""

    own: Reading
    federation: Federation

    def projects(self, repos: Repos = None) -> tuple[ProjectView, ...]:
        others = (shown(each) for each in self.federation.projects() if repos is None or each.repo in repos)
        return tuple(sorted((*self.own.projects(repos), *others), key=lambda each: (each.repo, each.server)))

    def project(self, repo: str) -> BoardView | None:
        return self.own.project(repo)

    def story(self, repo: str, key: str) -> StoryView | None:
        return self.own.story(repo, key)

    def circuits(self, repos: Repos = None) -> tuple[CircuitView, ...]:
        return self.own.circuits(repos)

    def workers(self, repos: Repos = None) -> tuple[WorkerView, ...]:
        return self.own.workers(repos)

    def runs(self, repos: Repos = None) -> tuple[RunView, ...]:
        return self.own.runs(repos)

    def costs(self, repos: Repos = None) -> CostView:
        return self.own.costs(repos)

    def metrics(self, repos: Repos = None) -> MetricsView:
        return self.own.metrics(repos)


def shown(project: said.Project) -> ProjectView:
    """As a page shows it. What another server says is text of others, and cleaned like any."""
    stale = f"{project.server} does not answer; this is what it said {duration(project.age_seconds)} ago"
    return ProjectView(
        repo=clip(plain(project.repo), 201),
        prds=tuple(prd_shown(project.repo, each) for each in project.prds),
        problems=(*((stale,) if project.stale else ()), *(clip(plain(each), 500) for each in project.problems)),
        server=project.server,
    )


def prd_shown(repo: str, prd: said.PrdSummary) -> PrdView:
    return PrdView(
        repo=clip(plain(repo), 201),
        id=clip(plain(prd.id), 100),
        title=clip(plain(prd.title), 160),
        path=clip(plain(prd.path), 300),
        branch=clip(plain(prd.branch), 200),
        head=clip(plain(prd.head), 64),
        base="",
        state=clip(plain(prd.state), 40),
        outcome=clip(plain(prd.outcome), 80),
        tone="proven" if prd.stories and prd.proven == prd.stories else "working",
        figures=(),
        next=NextStep(clip(plain(prd.next), 500)),
        counts=tuple(ColumnCount(Column(each.column), each.stories) for each in prd.counts),
        stories=prd.stories,
        proven=prd.proven,
        spend=Spend(**prd.spend.model_dump()),
        seconds=0.0,
        model="",
        replayed=False,
        updated_at=clip(plain(prd.updated_at), 40),
    )
