"""Servers that register here, and this server's own registration with an aggregator.

A heartbeat contains the server's projects, so an aggregator needs neither an address nor a token to reach it. The
presented token identifies a server: the token's name is shown, and its repositories limit which projects are accepted.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Self

from sqlalchemy import text

from prd2pr.client import ApiError, Client
from prd2pr.client.models import ServerReport
from prd2pr.domain.wording import clean_line, clip
from prd2pr.server.database import Database, Migration, read_database_time
from prd2pr.server.token_scopes import Bearer
from prd2pr.views.models import ProjectView

HEARTBEAT_SECONDS = 15.0
LOG = logging.getLogger("prd2pr.server.registration")

MIGRATIONS = (
    Migration(
        25,
        "registered servers",
        (
            """CREATE TABLE registered_servers (
                token TEXT PRIMARY KEY,
                name TEXT NOT NULL,
                url TEXT NOT NULL,
                seen_at {real} NOT NULL,
                projects TEXT NOT NULL
            )""",
        ),
    ),
)
UPSERT = text(
    """INSERT INTO registered_servers (token, name, url, seen_at, projects)
       VALUES (:token, :name, :url, :now, :projects)
       ON CONFLICT (token) DO UPDATE SET url = :url, seen_at = :now, projects = :projects"""
)
# A server is shown as missing until its token is revoked.
SELECT = text(
    """SELECT registered_servers.name, url, seen_at, projects FROM registered_servers
       JOIN tokens ON tokens.id = registered_servers.token WHERE tokens.revoked_at IS NULL
       ORDER BY registered_servers.name, token"""
)


@dataclass(frozen=True)
class RegisteredServer:
    name: str
    url: str
    age: float  # seconds since its last heartbeat
    projects: tuple[ProjectView, ...]


def record_server(database: Database, bearer: Bearer, report: ServerReport) -> None:
    """Register a server, or record its heartbeat. Projects that its token does not cover are dropped."""
    kept = [each.model_dump(mode="json") for each in report.projects if bearer.sees(each.repo)]
    given = {"token": bearer.id, "name": bearer.name, "url": report.url, "projects": json.dumps(kept)}
    with database.writing() as connection:
        connection.execute(UPSERT, given | {"now": read_database_time(connection)})


def list_registered_servers(database: Database) -> tuple[RegisteredServer, ...]:
    with database.reading() as connection:
        now = read_database_time(connection)
        return tuple(
            RegisteredServer(
                row.name,
                row.url,
                max(0.0, now - row.seen_at),
                tuple(ProjectView.model_validate(each) for each in json.loads(row.projects)),
            )
            for row in connection.execute(SELECT)
        )


class Heartbeat:
    """A thread that registers this server with an aggregator and repeats it while the server runs."""

    def __init__(
        self,
        client: Client,
        public_url: str,
        list_projects: Callable[[], Iterable[ProjectView]],
        every: float = HEARTBEAT_SECONDS,
    ) -> None:
        self._client, self._url, self._list_projects, self._every = client, public_url, list_projects, every
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join(timeout=10)
        self._client.close()

    def _work(self) -> None:
        problem: str | None = ""
        while not self._stopping.is_set():
            before, problem = problem, self.send()
            if problem != before:  # logged once per change, not every time
                LOG.warning("the aggregator does not accept this server: %s", problem) if problem else LOG.info(
                    "registered with the aggregator"
                )
            self._stopping.wait(self._every)

    def send(self) -> str | None:
        """Send one heartbeat; return why it failed, or None."""
        try:
            self._client.register(self._url, tuple(self._list_projects()))
        except ApiError as error:
            return clip(clean_line(str(error)), 300)
        except Exception:  # top level of the thread: the next heartbeat may succeed
            LOG.exception("no heartbeat was sent")
            return "it could not be sent"
        return None
