"""The server's application over loopback, in a thread of the test: real HTTP, its own database, its own ports."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI
from sqlalchemy import Connection
from state_repo import refresh_all

from prd2pr.client import Client
from prd2pr.server.api.change_requests import insert_request
from prd2pr.server.api.tokens import create_token
from prd2pr.server.app import ServerContext, create_app
from prd2pr.server.database import Database, open_database
from prd2pr.server.event_log import EventKind, announce
from prd2pr.server.projection.service import ProjectionUpdater
from prd2pr.server.settings import ServerSettings
from prd2pr.server.token_scopes import Scope
from prd2pr.state.orders import Order

ADDED = ("prd2pr.server.projection.service:add_projection", "prd2pr.server.api.routes:add_api")


@dataclass
class RecordedOrders:
    """Replaces `server.work`: records the orders and executes nothing."""

    placed: list[tuple[str, Order]] = field(default_factory=list)

    def place(self, _: Connection, repo: str, order: Order) -> None:
        self.placed.append((repo, order))

    def wake(self) -> None:
        """Nothing to wake."""


@dataclass
class ApiServer:
    url: str
    app: FastAPI
    database: Database
    orders: RecordedOrders
    server: uvicorn.Server

    def token(
        self, scope: str = "read", repos: Sequence[str] = ("*",), *, days: float | None = None, name: str = "a test"
    ) -> str:
        now = datetime.now(UTC)
        return create_token(self.database, name, Scope(scope), tuple(repos), days=days, now=now).token

    def expired(self) -> str:
        past = datetime.now(UTC) - timedelta(days=2)
        return create_token(self.database, "old", Scope.ADMIN, ("*",), days=1, now=past).token

    def client(self, token: str = "", **more: Any) -> Client:
        return Client(self.url, token, **more)

    def get(self, path: str, token: str = "", **more: Any) -> httpx.Response:
        return self.ask("GET", path, token, **more)

    def ask(self, method: str, path: str, token: str = "", **more: Any) -> httpx.Response:
        headers = {**({"Authorization": f"Bearer {token}"} if token else {}), **more.pop("headers", {})}
        return httpx.request(method, f"{self.url}{path}", headers=headers, timeout=10, **more)

    def announce_event(self, kind: EventKind, repo: str, **data: Any) -> None:
        with self.database.writing() as connection:
            announce(connection, kind, repo, data)

    def add_order(self, order: str, repo: str = "octo/shop") -> None:
        """Record an order that nobody processes."""
        made = Order(id=order, prd="shop", verb="tdd retry", story="shop-2", by="x", at="2026-01-01T00:00:00Z")
        row = {"key": order, "token": "t", "name": "x", "subject": f"{repo}:shop-2", "repo": repo}
        with self.database.writing() as connection:
            insert_request(connection, row, made)

    def refresh(self) -> None:
        """Refresh now, and not by the thread."""
        refreshing: ProjectionUpdater = self.app.state.projection_updater
        refresh_all(refreshing)


def until(true: Callable[[], object], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come to that in time"
        time.sleep(0.02)


@contextmanager
def api_server(
    place: Path,
    repositories: Mapping[str, Path] | None = None,
    *,
    database: str = "",
    prepare: Callable[[FastAPI], None] = lambda _: None,
    added: tuple[str, ...] = ADDED,
    **settings: Any,
) -> Iterator[ApiServer]:
    given = ServerSettings(
        database=database or f"sqlite:///{place}/server.db",
        repositories={name: str(path) for name, path in (repositories or {}).items()},
        mirrors_directory=str(place / "mirrors"),
        **settings,
    )
    opened = open_database(given.database)
    app = create_app(ServerContext(given, opened), added)
    orders = RecordedOrders()
    app.state.orders = orders
    prepare(app)
    config = uvicorn.Config(app, port=0, log_level="warning", access_log=False, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        until(lambda: server.started or not thread.is_alive())
        assert server.started, "the server did not start"
        port = server.servers[0].sockets[0].getsockname()[1]
        made = ApiServer(f"http://127.0.0.1:{port}", app, opened, orders, server)
        if repositories:
            until(lambda: {each.repo for each in app.state.reader.projects()} >= set(repositories))
        yield made
    finally:
        server.should_exit = True
        thread.join(timeout=120)
        opened.close()
