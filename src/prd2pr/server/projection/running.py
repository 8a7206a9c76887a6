"""What keeps the projection current while the server runs, and what answers from it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Self

from fastapi import FastAPI

from prd2pr.errors import Prd2prError
from prd2pr.server.app import Parts
from prd2pr.server.database import Database
from prd2pr.server.disk import Shelf
from prd2pr.server.federation import Federated, Federation
from prd2pr.server.projection import rows
from prd2pr.server.projection.filling import Filling
from prd2pr.server.projection.hosted import HostedRepositories
from prd2pr.server.projection.mirrors import Hosted, mirrored
from prd2pr.server.projection.reading import Projection

LOG = logging.getLogger("prd2pr.server.projection")
LOOKED_EVERY = 0.5  # seconds, at repositories on this machine: asking git for its branches is quick
ListHosted = Callable[[], Iterable[Hosted]]


def no_hosted() -> Iterable[Hosted]:
    return ()


class Refreshing:
    """A thread that looks at every repository again and again. `ask` makes it look at one at once."""

    def __init__(
        self,
        database: Database,
        local: dict[str, Path],
        mirrors: Path,
        *,
        hosted: ListHosted = no_hosted,
        hosted_every: float = 60,
        every: float = LOOKED_EVERY,
    ) -> None:
        self._filling = Filling(database)
        self._database = database
        self._local, self._mirrors, self._hosted = local, mirrors, hosted
        self._every, self._hosted_every = every, hosted_every
        self._shelves: dict[str, Shelf] = {}
        self._found: dict[str, Hosted] = {}  # when all were listed last
        self._asked: set[str] = set()
        self._lock = threading.Lock()
        self._woken, self._stopping = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._work, name="projection", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._woken.set()
        self._thread.join(timeout=15)

    def ask(self, repo: str) -> None:
        """Something happened there. Any thread may say so, and does not wait."""
        with self._lock:
            self._asked.add(repo)
        self._woken.set()

    def once(self) -> None:
        """All of them, now, in this thread."""
        self._look_local()
        self._look_hosted(None)

    # --- the thread ---------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        hosted_at = float("-inf")
        while not self._stopping.is_set():
            try:
                self._look_local()
                asked = self._taken()
                if time.monotonic() - hosted_at >= self._hosted_every:
                    hosted_at = time.monotonic()
                    self._look_hosted(None)
                elif asked:
                    self._look_hosted(asked)
            except Exception:  # the thread's edge: what is broken now may work the next time
                LOG.exception("the projection could not be brought up to date")
                self._stopping.wait(1)
            self._woken.wait(self._every)
            self._woken.clear()
        for shelf in self._shelves.values():
            shelf.git.close()

    def _taken(self) -> set[str]:
        with self._lock:
            asked, self._asked = self._asked, set()
        return asked

    def _look_local(self) -> None:
        for repo, path in self._local.items():
            if self._stopping.is_set():
                return
            try:
                if repo not in self._shelves:
                    self._shelves[repo] = Shelf.opened(repo, path)
                self._filling.refresh(repo, self._shelves[repo])
            except Prd2prError as problem:
                self._drop(repo)
                self._filling.cannot_read(repo, problem)

    def _drop(self, repo: str) -> None:
        shelf = self._shelves.pop(repo, None)
        if shelf:
            shelf.git.close()

    def _look_hosted(self, asked: set[str] | None) -> None:
        """`asked`: only these, of those that were listed last; None: all that there are now. Others are forgotten."""
        if asked is None:
            try:
                self._found = {each.name: each for each in self._hosted()}
            except Prd2prError as problem:  # the code host does not answer: what is known stays, and is not looked at
                LOG.warning("the installations cannot be listed", extra={"problem": " ".join(problem.lines())})
                return
        found = self._found
        for each in found.values():
            if self._stopping.is_set():
                return
            if asked is None or each.name in asked:
                self._look_at(each)
        if asked is None and not self._stopping.is_set():
            self._forget_others({*found, *self._local})

    def _look_at(self, hosted: Hosted) -> None:
        try:
            path = mirrored(hosted, self._mirrors)
            shelf = Shelf.opened(hosted.name, path)
            shelf.reader = replace(shelf.reader, local=False)
            with shelf.git:
                self._filling.refresh(hosted.name, shelf)
        except Prd2prError as problem:
            self._filling.cannot_read(hosted.name, problem)

    def _forget_others(self, known: set[str]) -> None:
        with self._database.reading() as connection:
            projected = set(rows.repo_problems(connection))
        for repo in projected - known:
            self._filling.forget_repo(repo)


def rebuild(database: Database) -> None:
    """Everything that was read from branches is forgotten; the next look reads it again."""
    with database.writing() as connection:
        rows.drop_all(connection)


def add_to(app: FastAPI, parts: Parts) -> AbstractContextManager[None] | None:
    """A reading that was given to the application already is left to answer, as that of the demo."""
    if getattr(app.state, "reading", None) is not None:
        return None
    settings = parts.settings
    federation = Federation(settings.sources)
    projection = Projection(parts.database)

    hosted = HostedRepositories(settings)
    refreshing = Refreshing(
        parts.database,
        {repo: Path(path) for repo, path in settings.repositories.items()},
        Path(settings.mirrors_directory),
        hosted=hosted,
        hosted_every=settings.refresh_seconds,
    )
    app.state.federation, app.state.refreshing = federation, refreshing
    app.state.reading = Federated(projection, federation) if settings.sources else projection
    return all_of(federation, hosted, refreshing)


@contextmanager
def all_of(*parts: AbstractContextManager[object]) -> Iterator[None]:
    with ExitStack() as running:
        for each in parts:
            running.enter_context(each)
        yield
