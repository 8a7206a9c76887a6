"""Keep the projection current while the server runs, and register its reader."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Self

from fastapi import FastAPI

from prd2pr.client import Client
from prd2pr.errors import Prd2prError
from prd2pr.server.app import ServerContext
from prd2pr.server.database import Database
from prd2pr.server.disk_reader import RepositoryShelf
from prd2pr.server.federation import TIMEOUT, FederatedReader, Federation
from prd2pr.server.projection import rows
from prd2pr.server.projection.mirrors import HostedRepository, update_mirror
from prd2pr.server.projection.reader import ProjectionReader
from prd2pr.server.projection.repositories import HostedRepositories
from prd2pr.server.projection.update import ProjectionWriter
from prd2pr.server.registration import Heartbeat, list_registered_servers
from prd2pr.server.settings import ServerSettings

LOG = logging.getLogger("prd2pr.server.projection")
POLL_SECONDS = 0.5  # for local repositories, whose branches git lists quickly
ListHosted = Callable[[], Iterable[HostedRepository]]


def list_no_repositories() -> Iterable[HostedRepository]:
    return ()


class ProjectionUpdater:
    """A thread that refreshes all repositories periodically; `request_refresh` refreshes one immediately."""

    def __init__(
        self,
        database: Database,
        local: dict[str, Path],
        mirrors: Path,
        *,
        hosted: ListHosted = list_no_repositories,
        hosted_every: float = 60,
        every: float = POLL_SECONDS,
    ) -> None:
        self._writer = ProjectionWriter(database)
        self._local, self._mirrors, self._hosted = local, mirrors, hosted
        self._every, self._hosted_every = every, hosted_every
        self._shelves: dict[str, RepositoryShelf] = {}
        self._found: dict[str, HostedRepository] = {}  # from the last listing
        self._requested = SimpleQueue[str]()
        self._woken, self._stopping = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._work, name="projection", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._woken.set()
        self._thread.join(timeout=15)

    def request_refresh(self, repo: str) -> None:
        """Request that a repository be refreshed soon. Returns immediately; may be called from any thread."""
        self._requested.put(repo)
        self._woken.set()

    # --- the thread ---------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        hosted_at = float("-inf")
        while not self._stopping.is_set():
            try:
                self.refresh_local()
                requested = self._take_requests()
                if time.monotonic() - hosted_at >= self._hosted_every:
                    hosted_at = time.monotonic()
                    self.refresh_hosted(None)
                elif requested:
                    self.refresh_hosted(requested)
            except Exception:  # top level of the thread: the next round may succeed
                LOG.exception("the projection could not be refreshed")
                self._stopping.wait(1)
            self._woken.wait(self._every)
            self._woken.clear()
        for shelf in self._shelves.values():
            shelf.git.close()

    def _take_requests(self) -> set[str]:
        return {self._requested.get() for _ in range(self._requested.qsize())}  # no other thread takes from this queue

    def refresh_local(self) -> None:
        for repo, path in self._local.items():
            if self._stopping.is_set():
                return
            try:
                if repo not in self._shelves:
                    self._shelves[repo] = RepositoryShelf.open_repository(repo, path)
                self._writer.refresh(repo, self._shelves[repo])
            except Prd2prError as problem:
                self._close_shelf(repo)
                self._writer.record_problem(repo, problem)

    def _close_shelf(self, repo: str) -> None:
        shelf = self._shelves.pop(repo, None)
        if shelf:
            shelf.git.close()

    def refresh_hosted(self, requested: set[str] | None) -> None:
        """Refresh the given repositories; if None, list all of them again, refresh them and delete the others."""
        if requested is None:
            try:
                self._found = {each.name: each for each in self._hosted()}
            except Prd2prError as problem:  # GitHub does not answer; keep the current rows
                LOG.warning("the installations cannot be listed", extra={"problem": " ".join(problem.lines())})
                return
        found = self._found
        for each in found.values():
            if self._stopping.is_set():
                return
            if requested is None or each.name in requested:
                self._refresh_repository(each)
        if requested is None and not self._stopping.is_set():
            self._delete_others({*found, *self._local})

    def _refresh_repository(self, hosted: HostedRepository) -> None:
        try:
            path = update_mirror(hosted, self._mirrors)
            shelf = RepositoryShelf.open_repository(hosted.name, path)
            shelf.reader = replace(shelf.reader, local=False)
            with shelf.git:
                self._writer.refresh(hosted.name, shelf)
        except Prd2prError as problem:
            self._writer.record_problem(hosted.name, problem)

    def _delete_others(self, known: set[str]) -> None:
        for repo in self._writer.list_repos() - known:
            self._writer.remove_repo(repo)


def clear_projection(database: Database) -> None:
    """Delete all data read from branches. The next refresh reads it again."""
    with database.writing() as connection:
        rows.delete_all(connection)


def add_projection(app: FastAPI, context: ServerContext) -> AbstractContextManager[None] | None:
    """Register the projection as the reader, unless the application already has one (as in the demo)."""
    if getattr(app.state, "reader", None) is not None:
        return None
    settings = context.settings
    federation = Federation(settings.sources, list_registered=lambda: list_registered_servers(context.database))
    projection = ProjectionReader(context.database)

    hosted = HostedRepositories(settings)
    updater = ProjectionUpdater(
        context.database,
        {repo: Path(path) for repo, path in settings.repositories.items()},
        Path(settings.mirrors_directory),
        hosted=hosted,
        hosted_every=settings.refresh_seconds,
    )
    app.state.federation, app.state.projection_updater = federation, updater
    app.state.reader = FederatedReader(projection, federation)
    return enter_all(federation, hosted, updater, *open_heartbeats(settings, projection))


def open_heartbeats(settings: ServerSettings, projection: ProjectionReader) -> Iterator[Heartbeat]:
    if settings.aggregator_url:
        client = Client(settings.aggregator_url, settings.aggregator_token.get_secret_value(), timeout=TIMEOUT)
        yield Heartbeat(client, settings.public_url, projection.projects)


@contextmanager
def enter_all(*parts: AbstractContextManager[object]) -> Iterator[None]:
    with ExitStack() as running:
        for each in parts:
            running.enter_context(each)
        yield
